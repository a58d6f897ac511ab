// Returns by how much a page is wider than its window, which elements stick out, and texts whose contrast is too low.
([least, large]) => {
  const channel = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return [numbers.slice(0, 3), numbers.length > 3 ? numbers[3] : 1];
  };
  const over = (top, alpha, under) => top.map((v, i) => alpha * v + (1 - alpha) * under[i]);
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const [colour, alpha] = parse(getComputedStyle(e).backgroundColor);
      if (alpha > 0) layers.push([colour, alpha]);
      if (alpha === 1) break;
    }
    return layers.reverse().reduce((under, [colour, alpha]) => over(colour, alpha, under), [255, 255, 255]);
  };
  const hidden = "script, style, svg, mjx-container, .sr-only, .visually-hidden";
  const skipped = (e) => {
    const box = e.getBoundingClientRect();
    const seen = e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return !seen || e.closest(hidden) || box.width === 0 || box.height === 0;
  };

  const width = document.documentElement.clientWidth;
  const overflow = document.documentElement.scrollWidth - width;
  const outside = (e) => e.getBoundingClientRect().right > width + 1;
  const wide = overflow > 0 ? [...document.querySelectorAll("body *")].filter(outside).slice(0, 5) : [];

  const faint = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || skipped(e)) continue;
    const style = getComputedStyle(e);
    const [colour, alpha] = parse(style.color);
    const under = ground(e);
    const [light, dark] = [luminance(over(colour, alpha, under)), luminance(under)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const big = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const key = `${e.tagName}.${e.className} ${style.color}`;
    if (ratio < (big ? large : least) - 0.01) faint.set(key, [text.slice(0, 40), ratio.toFixed(2)]);
  }
  return { overflow, wide: wide.map((e) => `${e.tagName}.${e.className}`), faint: [...faint].slice(0, 8) };
}

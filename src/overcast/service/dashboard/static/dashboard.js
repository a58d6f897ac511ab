// Buttons that copy a block, without which the page works as well.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const block = document.getElementById(button.dataset.copy);
  navigator.clipboard.writeText(block.textContent).then(() => {
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
});

"""How the site is built: `make docs`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path

TOOLS = str(Path(__file__).parent / "tools")
sys.path.insert(0, TOOLS)
os.environ["PYTHONPATH"] = os.pathsep.join(
    [TOOLS, *filter(None, [os.environ.get("PYTHONPATH")])]
)  # for the processes that run the pages

# Pages run the same for everybody, whatever profile of IPython one has. The build itself reports a cell that fails.
PROFILE = Path(tempfile.mkdtemp(prefix="overcast-site-")) / "profile_default"
PROFILE.mkdir()
(PROFILE / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "CRITICAL"\n', encoding="utf-8")
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

project = "Overcast"
author = "The Overcast developers"
copyright = "The Overcast developers"  # noqa: A001 - Sphinx names it so
release = version = metadata.version("overcast")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
    "listing",
    "blocks",
]
exclude_patterns = ["tools"]
source_suffix = {".md": "myst-nb"}

# Every page with code cells runs, in the folder docs/; a cell that fails, fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True
nb_render_markdown_format = "gfm"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
napoleon_numpy_docstring, napoleon_google_docstring = True, False
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "Overcast"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_css_files = ["site.css"]
html_sidebars = {
    page: []
    for page in (
        "index",
        "first",
        "start",
        "faq",
        "about",
        "compared",
        "forecasts-in",
        "look",
        "verification",
        "notation",
        "versions",
        "changelog",
    )
}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Overcast"},
    "header_links_before_dropdown": 9,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

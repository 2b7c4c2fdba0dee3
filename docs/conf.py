"""How Sphinx makes a site of these pages: `make docs`, and `tests/docs/test_site.py` with every warning an error."""

project = "Modelplane"
author = "The Modelplane authors"
copyright = "The Modelplane authors"  # noqa: A001 - the name that Sphinx gives it

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_llms_txt"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
root_doc = "index"

# Headings are link targets, as on the pages that forges make of these files.
myst_heading_anchors = 3
# Prompts and outputs are shown, and what is copied is what one types.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = "Modelplane"
html_show_sourcelink = False
html_show_sphinx = False
llms_txt_title = "Modelplane"
llms_txt_summary = (
    "Modelplane serves models on a fleet of Kubernetes clusters with GPUs: a Pulumi program and a command that drives "
    "it. Documents say what is wanted; it makes clusters, places replicas and puts one URL in front of each model."
)

"""A page that stands alone: its style and its program are in it, and nothing comes from anywhere else.

Its content security policy allows both by their hashes, and no connection at all.
"""

import base64
import hashlib
import html

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{script}</body>
</html>
"""


def html_document(title: str, body: str, *, style: str, program: str = "") -> str:
    """The page as HTML. `title` is plain text; `body` is HTML already, with every text in it escaped."""
    own = [f"style-src {_hash(style)}", *([f"script-src {_hash(program)}"] if program else [])]
    policy = "; ".join(["default-src 'none'", *own, "base-uri 'none'", "form-action 'none'"])
    return _DOCUMENT.format(
        policy=html.escape(policy),
        title=html.escape(title),
        style=style,
        body=body,
        script=f"<script>{program}</script>\n" if program else "",
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

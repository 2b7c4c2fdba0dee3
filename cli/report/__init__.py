"""A preview or a pass as one report: `page` is the pure model, beside it one renderer for each format.

What a report says is decided once, in `from_preview` and `from_pass`; renderers lay it out, and leave nothing out
without saying so.
"""

"""One Pulumi program per kind of stack (`programs.registry`), and what they plan, read and export.

Who only reads what stacks export needs neither Pulumi nor its SDKs: `programs.outputs` loads none of them.
"""

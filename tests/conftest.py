"""What holds for every test."""

from hypothesis import settings

settings.register_profile("modelplane", deadline=None)  # a test asserts nothing about time, a busy machine is no fault
settings.load_profile("modelplane")

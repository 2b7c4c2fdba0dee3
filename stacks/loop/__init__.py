"""The loop: brings a fleet up again and again, and starts engines only where something is to be done."""

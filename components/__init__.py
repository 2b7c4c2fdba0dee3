"""ComponentResources of the fleet, one noun a file, and their manifests as plain functions of plain data."""

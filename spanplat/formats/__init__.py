"""Import and export codecs: bytes to typed records and back, knowing nothing of the database."""

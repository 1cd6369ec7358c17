"""The limits of the service (C-UP-11; C-TXT-1, C-MOD-1, C-APP-2).

Lengths of text are Unicode code points, sizes are bytes; 1 KB is 1024 bytes and 1 MB is 1024 KB (C-TXT-7).
"""

from typing import Final

KB: Final = 1024
MB: Final = 1024 * KB

# Longer text is trimmed, never rejected (C-UP-11).
TITLE: Final = 120
DESCRIPTION: Final = 8000
GAME: Final = 120
NOTE: Final = 4000
CAPTION: Final = 200
VERSION: Final = 64
FILE_NAME: Final = 255
QUERY: Final = 200

# The reason why an operator hides a mod; longer text is rejected.
REASON: Final = 500

# The name of a kind of public changes, which features declare.
CHANGE_KIND: Final = 20

# A longer media type counts as malformed (C-UP-7).
CONTENT_TYPE: Final = 255

# Entries of a list: excess games are dropped, excess GUIDs are rejected (C-MOD-6, C-MOD-8).
GAMES: Final = 20
GUIDS: Final = 50

# Bodies. A larger one is 413 with ``limitBytes``, and nothing is stored.
JSON_BODY: Final = 8 * MB
CODE: Final = 64 * MB
CSS: Final = 256 * KB
IMAGE: Final = 2 * MB
IMAGES: Final = 10 * MB

# How deep JSON may nest (T-D4), and how deep stored HTML may: browsers rearrange a tree deeper than 512.
JSON_DEPTH: Final = 64
HTML_DEPTH: Final = 64

# Lists of mods (C-UP-11).
PAGE_SIZE: Final = 20
PAGE_SIZE_MOST: Final = 100

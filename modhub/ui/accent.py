"""The operator's colour: a style sheet that replaces the accent of style.css.

The colour is darkened for the light scheme and lightened for the dark one until text in it, and text on it, has a
contrast of at least 4.5 (WCAG 2.2, 1.4.3). And the tint of a game's page: the nearest of a few that are readable.
"""

import colorsys
import re
from typing import Final

CONTRAST: Final = 4.5
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LIGHT: Final = ("#f4f2ec", "#fffdf8", "#e9e6db", "#fbe9d7", "#dcefe4", "#e5e2ec")
_DARK: Final = ("#11191b", "#1a2528", "#0b1113", "#3b2a1b", "#163226")
"""The backgrounds of each scheme, as in style.css; the second is the colour of text on the accent."""
HUES: Final = (181, 27, 217, 70, 342, 254)
"""The hues of tiles and of the pages of games in style.css, in degrees; the first is that of the site."""
_GREY: Final = 0.1
"""The channels of a colour without a hue differ by less."""
_STEPS: Final = 100
_SHEET: Final = """@media screen {{
:root {{ --petrol: {light}; --petrol-deep: {light_deep}; --on-petrol: #fffdf8; }}
@media (prefers-color-scheme: dark) {{
:root {{ --petrol: {dark}; --petrol-deep: {dark_deep}; --on-petrol: #0b1113; }}
}}
}}
"""
Channels = tuple[float, float, float]


def colour(value: str) -> str:
    """The kind of the setting: a colour such as ``#0a5c62``, or nothing."""
    if value and not _COLOUR.fullmatch(value):
        raise ValueError(f"must be a colour such as #0a5c62, not {value!r}")
    return value.lower()


def _channels(colour_text: str) -> Channels:
    red, green, blue = (int(colour_text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _text(channels: Channels) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def _luminance(colour_text: str) -> float:
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in _channels(colour_text)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable(colour_text: str, backgrounds: tuple[str, ...], *, towards: float) -> str:
    """The colour, its lightness moved towards 0 or 1 until it is readable on all backgrounds."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour_text))
    for step in range(_STEPS):
        moved = _text(colorsys.hls_to_rgb(hue, lightness + (towards - lightness) * step / _STEPS, saturation))
        if min(contrast(moved, background) for background in backgrounds) >= CONTRAST:
            return moved
    return "#000000" if towards == 0 else "#ffffff"


def nearest_hue(colour_text: str | None) -> int:
    """The place in `HUES` of the one that is nearest to a colour; the first for grey, and where there is none."""
    channels = _channels(colour_text) if colour_text else (0, 0, 0)
    if max(channels) - min(channels) < _GREY:
        return 0
    degrees = 360 * colorsys.rgb_to_hls(*channels)[0]
    return min(range(len(HUES)), key=lambda place: abs((degrees - HUES[place] + 180) % 360 - 180))


def _further(colour_text: str, towards: float) -> str:
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour_text))
    return _text(colorsys.hls_to_rgb(hue, lightness + (towards - lightness) * 0.3, saturation))


def accent_sheet(accent: str) -> bytes:
    """The style sheet for this colour."""
    light, dark = readable(accent, _LIGHT, towards=0), readable(accent, _DARK, towards=1)
    return _SHEET.format(light=light, light_deep=_further(light, 0), dark=dark, dark_deep=_further(dark, 1)).encode()

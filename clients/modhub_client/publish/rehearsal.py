"""What a rehearsal says, in sentences: problems, which keep a mod from being published, and hints."""

from collections.abc import Mapping
from typing import Any, Final

_ARCHIVE: Final = {
    "parent_folder": "leads to a parent folder",
    "absolute": "is an absolute path",
    "duplicate": "is there twice",
    "unreadable": "the archive cannot be read",
}
_TEXTS: Final = {
    "image_without_alt": "not every image has alt text",
    "heading_skipped": "a level of headings is skipped",
    "link_text": "the text of a link says nothing, such as “here”",
    "caption_missing": "not every image has a caption",
}


def problems_of(rehearsal: Mapping[str, Any], *, has_code: bool) -> list[str]:
    """Why the mod should not be published as it is."""
    return [
        *([] if has_code else ["there is no code file"]),
        *(f"required, but nobody could install it: {guid}" for guid in rehearsal["missing"]),
        *(f"required, but still a draft: {guid}" for guid in rehearsal["unpublished"]),
        *(f"{pair['guid']} excludes {pair['conflictsWith']}, and needs it" for pair in rehearsal["conflicts"]),
        *(
            f"code: {' '.join(filter(None, (entry['name'], _say(_ARCHIVE, entry['problem']))))}"
            for entry in rehearsal["archive"]
        ),
    ]


def hints_of(rehearsal: Mapping[str, Any]) -> list[str]:
    """What could be better."""
    successor = rehearsal["supersededBy"]
    return [
        *(f"{field}: as long as it may be; its end may be cut off" for field in rehearsal["trimmed"]),
        *(f"games: not in the list of games: {game}" for game in rehearsal["games"]),
        *(f"{entry['field']}: {_say(_TEXTS, entry['problem'])}" for entry in rehearsal["texts"]),
        *(
            ["supersededBy: not published, so that readers are not told"]
            if successor and not successor["published"]
            else []
        ),
    ]


def _say(sentences: Mapping[str, str], problem: str) -> str:
    return sentences.get(problem, problem.replace("_", " "))

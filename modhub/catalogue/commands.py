"""``modhub-admin game ...`` (the curated games) and ``modhub-admin rebuild`` (the public copies)."""

import argparse
import io
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, selectinload

from modhub.audit import record
from modhub.base.errors import too_large
from modhub.base.progress import progress_bar
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, stage
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.catalogue import copies
from modhub.catalogue.models import Game, GameIcon
from modhub.catalogue.pictures.child import HEAD, PROGRAM, SECONDS, Decoder, DecodingFailed
from modhub.catalogue.reading.service import CatalogueReader
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.db import now
from modhub.db.changes import What, mark_changed
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option

GAMES_CHANGED: Final = "game"
"""The kind of the changes of curated games."""
_COLOUR: Final = re.compile(rb"#[0-9a-fA-F]{6}\b")
_EXAMPLES: Final = """\
game list
game add "Portal 2" --icon portal2.png
game add "half-life" --display-name "Half-Life (1998)"
game remove "Portal 2" --dry-run
game remove "Portal 2"

The list gives games an icon and a display name. A mod may name any game, on the list or not."""


def _lock_game(session: Session, name: str) -> Game | None:
    """Return the curated game with this name, ignoring case, and lock it: two commands may change it at once."""
    # The icons are read by a second statement, after the lock.
    statement = select(Game).where(Game.folded == fold_game(name)).options(selectinload(Game.icons))
    return session.scalars(statement.with_for_update()).one_or_none()


def _lock_or_create_game(session: Session, name: str) -> tuple[Game, bool]:
    """Return the curated game with this name, locked, and whether it is new."""
    while True:
        game = _lock_game(session, name)
        if game is not None:
            return game, False
        # Raised by the commit of the savepoint if another command adds it at the same time.
        with suppress(IntegrityError), session.begin_nested():
            game = Game(name=name, folded=fold_game(name), icons=[])
            session.add(game)
            return game, True


class IconFile(NamedTuple):
    """A file of `GameIcon`, before it is stored."""

    side: int
    name: str
    content_type: str
    content: bytes


def add_game(admin: Any, name: str, display_name: str | None, icon: Path | None, *, dry_run: bool = False) -> bool:
    """Add a curated game, or change the given fields of an existing one; whether it is new."""
    cleaned_name = text.line(name, limits.GAME)
    if not cleaned_name:
        raise StartRefused("the name of a game must not be empty")
    # Before anything in the database is locked, since decoding takes its time.
    files, colour = ([], None) if icon is None else read_icon(icon)
    with admin.writing(dry_run=dry_run) as (session, manager):
        game, is_new = _lock_or_create_game(session, cleaned_name)
        mark_changed(session, GAMES_CHANGED, What.PUBLISHED if is_new else What.EDITED)
        if display_name is not None:
            game.display_name = text.line(display_name, limits.GAME)
        if files:
            game.colour = colour
            _set_icon(session, manager, admin.existing_store if dry_run else admin.store, game, files)
        record(session, "curated game changed", "game", cleaned_name)
    return is_new


def read_icon(icon: Path) -> tuple[list[IconFile], str | None]:
    """Return an icon with its smaller copies, and its main colour. An SVG has no copies; its first colour counts."""
    try:
        with icon.open("rb") as file:
            content = file.read(limits.IMAGE + 1)
    except OSError:
        raise StartRefused("the icon cannot be read") from None
    if len(content) > limits.IMAGE:
        raise too_large(limits.IMAGE)
    content_type = text.sniff_image(content[:HEAD]) or ""
    given = IconFile(0, text.file_name(icon.name, "icon"), content_type, content)
    if content_type == "image/svg+xml":
        named = _COLOUR.search(content)
        return [given], named and named[0].decode().lower()
    try:
        made = Decoder(PROGRAM, SECONDS, "icon").decode(io.BytesIO(content), bool)
    except DecodingFailed:
        raise StartRefused("the icon is not a PNG, JPEG, GIF, WebP, BMP, AVIF or SVG image that can be read") from None
    copies = zip(made.sizes, (file.content for file in made.files if file.extension == "webp"), strict=True)
    smaller = [IconFile(max(size), f"icon-{max(size)}.webp", "image/webp", content) for size, content in copies]
    return [given, *smaller], made.colour


def _set_icon(session: Session, manager: Any, store: BlobStore, game: Game, files: list[IconFile]) -> None:
    # A new icon gets a new address: the old one may be cached without expiry.
    trash_blob(session, [icon.blob_id for icon in game.icons])
    game.icons.clear()
    session.flush()
    for side, name, content_type, content in files:
        row = create_blob_row(session, stage(manager, store, io.BytesIO(content), limits.IMAGE))
        icon = GameIcon(side=side, name=name, content_type=content_type, blob=row, stored_at=now())
        game.icons.append(icon)


def remove_game(admin: Any, name: str, *, dry_run: bool = False) -> bool:
    """Remove a curated game and its icon; False if there is no such game."""
    with admin.writing(dry_run=dry_run) as (session, _):
        game = _lock_game(session, name)
        if game is None:
            return False
        trash_blob(session, [icon.blob_id for icon in game.icons])
        session.delete(game)
        record(session, "curated game removed", "game", game.name)
        session.flush()
        mark_changed(session, GAMES_CHANGED, What.DELETED)
    return True


def run_game(admin: Any, arguments: argparse.Namespace) -> int:
    """``game add|remove|list``"""
    if arguments.action == "list":
        return list_games(admin, as_json=arguments.json)
    dry_run, name = arguments.dry_run, text.line(arguments.name, limits.GAME)
    if arguments.action == "add":
        is_new = add_game(admin, arguments.name, arguments.display_name, arguments.icon, dry_run=dry_run)
        done = "added to" if is_new else "changed in"
    elif remove_game(admin, arguments.name, dry_run=dry_run):
        done = "removed from"
    else:
        admin.say_problem("There is no curated game with that name.")
        return 1
    verb, remark = ("would be", " Nothing was changed.") if dry_run else ("was", "")
    admin.say(f"The game {name} {verb} {done} the list.{remark}")
    return 0


def list_games(admin: Any, *, as_json: bool) -> int:
    """Print one line per game."""
    games = admin.find_service(CatalogueReader).games()
    for game in games:
        if as_json:
            admin.say_json(game)
            continue
        icon = "" if game.icon_url else " (no icon)"
        admin.say(f"{game.name}: {game.display_name}{icon}")
    if not games and not as_json:
        admin.say("No games.")
    return 0


def game_arguments(parser: argparse.ArgumentParser) -> None:
    """``add NAME [--display-name N] [--icon FILE]``, ``remove NAME``, ``list``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="add a game, or change one", description="Add a game, or change one.")
    add.add_argument("name", metavar="NAME", help="as mods name it; case and outer spaces do not matter")
    add.add_argument("--display-name", metavar="TEXT", help="the name that visitors see instead; empty removes it")
    add.add_argument("--icon", type=Path, metavar="FILE", help="an image of at most 2 MB; replaces the current one")
    about_remove = "Remove a game and its icon from the list. Mods keep the name."
    remove = actions.add_parser("remove", help="remove a game", description=about_remove)
    remove.add_argument("name", metavar="NAME", help="its name; case and outer spaces do not matter")
    for action in (add, remove):
        add_dry_run_option(action)
    about_list = "List the games: name, display name, and whether the icon is missing."
    add_json_option(actions.add_parser("list", help="list the games", description=about_list))


def run_rebuild(admin: Any, arguments: argparse.Namespace) -> int:
    """Rebuild the public copies of all mods."""
    with admin.reading() as session:
        total = copies.count_public(session)
    if arguments.dry_run:
        admin.say(f"Would rebuild the public copies of {total} mods. Nothing was changed.")
        return 0
    with progress_bar("public copies", total) as advance:
        count = copies.rebuild_copies(admin.databases.write_session.begin, advance)
    with admin.writing() as (session, _):
        record(session, "public copies rebuilt", "catalogue", mods=count)
    admin.say(f"Public copies rebuilt: {count}.")
    return 0


def rebuild_arguments(parser: argparse.ArgumentParser) -> None:
    """``--dry-run``"""
    add_dry_run_option(parser, "say how many there are, change nothing")


def includeme(config: Configurator) -> None:
    """The commands ``game`` and ``rebuild``."""
    config.add_command(AdminCommand("game", "the curated games", game_arguments, run_game, examples=_EXAMPLES))
    config.add_command(
        AdminCommand("rebuild", "rebuild every public copy", rebuild_arguments, run_rebuild, examples="rebuild")
    )

"""Threads that render Markdown for the first time at once."""

import pytest

PROGRAM = """
from mdurl import _decode, _encode
from modhub.catalogue.owning.texts import render_markdown
from modhub.ui import documentation

def tables():
    parser = documentation._TEXT
    rulers = [parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2]
    filled = [_encode.encode_cache, _decode.decode_cache, *(each.__cache__ or () for each in rulers)]
    return [sorted(each) for each in filled]

before = tables()
render_markdown('''[a b](https://example.org/a%20b?c=d#e "f") <https://\u00e4.example/> <ada@example.org>

![i](/Modhub/file/1) [r]

[r]: <x y>
''')
documentation.inline("`a` **b** [c](#d) <https://example.org/>")
print(before == tables())
"""


@pytest.mark.process
def test_every_table_is_there_before_the_first_text(run_program):
    done = run_program(PROGRAM)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stdout + done.stderr

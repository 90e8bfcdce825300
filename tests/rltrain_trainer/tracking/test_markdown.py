"""Markdown for TensorBoard: its own renderer shows texts and tables unchanged."""

import html
import re

import pytest

from rltrain_trainer.tracking.markdown import markdown_table, verbatim

# TensorBoard's own copy of html5lib says so when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:html5lib's sanitizer is deprecated:DeprecationWarning")


def rendered(markdown: str) -> str:
    """The page that TensorBoard makes."""
    from tensorboard.plugin_util import markdown_to_safe_html

    return str(markdown_to_safe_html(markdown))


def shown(markdown: str) -> str:
    """What a reader of TensorBoard's page sees."""
    page = re.sub(r"</?p>", "", rendered(markdown)).replace("<br>", "\n")
    return html.unescape(page).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    "text",
    [
        "a_b_ c\n  two  blanks\n\n# no title",
        "1. x\n* y\n- z\n> w",
        "<b>&amp;|`q` ~~z~~ \\n </b>",
        "[link](http://a_b/c_d) ![x](y)",
        " ends with a blank \n",
        "größer 数 🙂",
        "",
    ],
)
def test_text_is_shown_unchanged(text: str) -> None:
    assert shown(verbatim(text)) == text


def test_cells_are_shown_unchanged() -> None:
    page = rendered(markdown_table(["a_b", "c|d"], [["x\ny | z", 0.123456789], [None, ""]]))
    cells = [html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", page)]
    assert cells == ["a_b", "c|d", "x<br>y | z", "0.123457", "None", ""]

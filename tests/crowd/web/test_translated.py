"""What `_("...")` says stands in a template once it is compiled."""

from gettext import NullTranslations

import pytest
from jinja2 import DictLoader, StrictUndefined

from seedvote.crowd.web.translated import TranslatedEnvironment


class Counted(NullTranslations):
    """A language that writes in capitals, and counts how often it is asked."""

    asked = 0

    def gettext(self, message):
        self.asked += 1
        return message.replace("pair", "PAIR").replace("tie", "<b>TIE</b>")


def environment(catalogue, **templates):
    loader = DictLoader(templates)
    return TranslatedEnvironment(catalogue, loader=loader, autoescape=True, undefined=StrictUndefined)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ('{{ _("a pair") }}', "a PAIR"),
        ('{{ _("a tie, %(n)s", n=n) }}', "a <b>TIE</b>, &lt;3&gt;"),
        ('{{ _("%(n)s of 100 %%", n=n) }}', "&lt;3&gt; of 100 %"),
        ('{{ _("%(n)s", n=n) }}|{{ _("%(n)s%(n)s", n=1) }}', "&lt;3&gt;|11"),
        ('{% set word = _("tie") %}{{ word }}{{ word if 1 else "" }}', "<b>TIE</b><b>TIE</b>"),
        ('{{ _("pair %(n)s", n=n) ~ n if 1 }}', "PAIR &lt;3&gt;&lt;3&gt;"),
        ('{{ _(chosen) }} {{ ngettext("one pair", "%(num)s pairs", 2) }}', "<b>TIE</b> 2 pairs"),
    ],
)
def test_a_page_says_what_its_catalogue_says(text, page):
    jinja = environment(Counted(), page=text)
    assert jinja.get_template("page").render(n="<3>", chosen="tie") == page


def test_a_catalogue_is_asked_once_however_many_pages_are_made():
    catalogue = Counted()
    page = environment(catalogue, page='{{ _("a pair") }}{{ _("tie %(n)s", n=1) }}').get_template("page")
    assert {page.render() for _ in range(3)} == {"a PAIR<b>TIE</b> 1"}
    assert catalogue.asked == 2

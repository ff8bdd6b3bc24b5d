"""Templates whose translations are looked up when a template is compiled, not whenever a page is made.

Every language has an environment of its own, so what `_("...")` says there never changes. It becomes a part of the
template's text, in one piece with the tags around it. Texts that are chosen while a page is made, and plurals, are
looked up then.
"""

from __future__ import annotations

import re
from gettext import NullTranslations
from typing import Any

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

_PARTS = re.compile(r"%\((\w+)\)s|(%%)")


class TranslatedEnvironment(Environment):
    """An environment that speaks the language of one catalogue."""

    def __init__(self, catalogue: NullTranslations, **options: Any) -> None:
        super().__init__(extensions=["jinja2.ext.i18n"], **options)
        self.install_gettext_translations(catalogue, newstyle=True)  # type: ignore[attr-defined]
        self._translator = _Translator(catalogue)

    def _generate(self, source: nodes.Template, *rest: Any, **options: Any) -> str:
        return super()._generate(self._translator.visit(source), *rest, **options)


class _Translator(NodeTransformer):
    """Writes what is said into the tree of a template."""

    def __init__(self, catalogue: NullTranslations) -> None:
        self._catalogue = catalogue

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        self.generic_visit(node)
        if not (isinstance(node.node, nodes.Name) and node.node.name == "_" and len(node.args) == 1):
            return node
        if not isinstance(node.args[0], nodes.Const):
            return node
        parts = self._split_text(node.args[0].value, {pair.key: pair.value for pair in node.kwargs})
        return parts[0] if len(parts) == 1 else nodes.Concat(parts, lineno=node.lineno)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """Parts of a text stand alone, so that those without a variable join the tags around them."""
        self.generic_visit(node)
        node.nodes = [
            part for whole in node.nodes for part in (whole.nodes if isinstance(whole, nodes.Concat) else [whole])
        ]
        return node

    def _split_text(self, text: str, variables: dict[str, nodes.Expr]) -> list[nodes.Expr]:
        """The text in this language, parted at its variables; all but those is markup, as everywhere in templates."""
        pieces = _PARTS.split(self._catalogue.gettext(text))
        parts: list[nodes.Expr] = []
        for literal, name, percent in zip(pieces[::3], [*pieces[1::3], None], [*pieces[2::3], None], strict=True):
            if literal:
                parts.append(nodes.Const(Markup(literal)))
            if name:
                parts.append(variables[name])
            if percent:
                parts.append(nodes.Const("%"))
        return parts or [nodes.Const("")]

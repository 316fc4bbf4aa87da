"""HTML out of Python: elements as text, everything that came from outside escaped."""

from __future__ import annotations

from html import escape


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | bool | None) -> Html:
    """An element. `class_` is `class`, other underscores are hyphens; False and None leave one out."""
    given = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        given += f" {attribute}" if value is True else f' {attribute}="{escape(value)}"'
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: str) -> Html:
    """Children one after the other; what is not `Html` is text."""
    return Html(
        "".join(child if isinstance(child, Html) else escape(child, quote=False) for child in children)
    )


def table(heads: list[str], rows: list[list[str]], class_: str = "") -> Html:
    """A table whose cells know their head, so that a phone can show each row as a card."""
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in heads)))
    body = tag("tbody", *(row(heads, cells) for cells in rows))
    return tag("table", head, body, class_=f"data {class_}".strip())


def grouped_table(heads: list[str], groups: dict[str, list[list[str]]], class_: str = "") -> Html:
    """The same with a heading above each group of rows."""
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in heads)))
    bodies = []
    for title, rows in groups.items():
        heading = tag("tr", tag("th", title, colspan=str(len(heads)), scope="rowgroup"), class_="group")
        bodies.append(tag("tbody", heading, *(row(heads, cells) for cells in rows)))
    return tag("table", head, *bodies, class_=f"data {class_}".strip())


def row(heads: list[str], cells: list[str]) -> Html:
    """A row; each cell but the first carries its column's head."""
    named = zip(cells[1:], heads[1:], strict=True)
    return tag(
        "tr", tag("th", cells[0], scope="row"), *(tag("td", cell, data_head=head) for cell, head in named)
    )


def section(identifier: str, title: str, *children: str) -> Html:
    return tag("section", tag("h2", title), *children, id=identifier)

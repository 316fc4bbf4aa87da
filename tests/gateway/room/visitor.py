"""A browser without scripts before a gateway."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from tests.gateway.rig import EVENT, Answer, Served, token

LINE: Final = f"/e/{EVENT}/line"


class Visitor:
    """A browser without scripts: keeps cookies and follows forms."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.cookies: dict[str, str] = {}
        self.last = Answer(0, {}, b"")

    async def page(self, asked: str = "") -> str:
        answer = self.last = await self._served.http("GET", LINE + asked, headers=self._head())
        assert answer.status == 200
        assert "form-action 'self'" in answer.headers["content-security-policy"]
        return answer.body.decode()

    async def sees(self, text: str) -> str:
        """The page once it says so; a place is believed to be as it was for a second."""
        while True:
            page = await self.page()
            if text in page:
                return page
            await asyncio.sleep(0.05)

    async def press(self, act: str, body: str = "", **head: str) -> Answer:
        origin = {"Origin": f"http://127.0.0.1:{self._served.port}", "Sec-Fetch-Site": "same-origin"}
        sent = self._head() | origin | {name.replace("_", "-"): value for name, value in head.items()}
        answer = await self._served.http("POST", f"{LINE}/{act}", body=body.encode(), headers=sent)
        self.keep(answer)
        return answer

    def keep(self, answer: Answer) -> None:
        for name, value in re.findall(r"(onsale-\w+)=([^;]*)", answer.headers.get("set-cookie", "")):
            self.cookies[name] = value.strip('"')

    def _head(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


async def visitors(served: Served, *buyers: str) -> list[Visitor]:
    """Come in from the shop."""
    come = [Visitor(served) for _ in buyers]
    for visitor, buyer in zip(come, buyers, strict=True):
        await visitor.press("come", f"token={token(buyer)}")
    return come

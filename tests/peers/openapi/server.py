"""A shop in FastAPI with one operation of each kind. `server.py PORT` serves it; `server.py` prints its document."""

import json
import sys
from enum import Enum
from typing import Annotated, Literal, Optional, Union

from fastapi import Cookie, FastAPI, File, Form, Header, HTTPException, Query, Response, UploadFile
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field


class State(str, Enum):
    open = "open"
    closed = "closed"


class Order(BaseModel):
    id: str
    total: int = Field(ge=1, le=1000)
    state: State = State.open
    note: Optional[str] = None
    tags: list[str] = []


class Missing(BaseModel):
    detail: str


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Cash(BaseModel):
    kind: Literal["cash"]
    amount: float


app = FastAPI(title="Shop", version="1")


@app.get("/orders/{id}", operation_id="find", responses={404: {"model": Missing}})
def find(id: str) -> Order:
    if id == "none":
        raise HTTPException(404, "no such order")
    return Order(id=id, total=3)


@app.get("/orders", operation_id="list")
def list_orders(
    state: Annotated[list[State], Query()] = [],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    text: Optional[str] = None,
) -> list[Order]:
    return [Order(id=f"{one.value}-{limit}", total=1, note=text, state=one) for one in state]


@app.post("/orders", operation_id="place", status_code=201)
def place(order: Order) -> Order:
    return order


@app.put("/orders/{id}/note", operation_id="annotate")
def annotate(id: str, note: Annotated[Optional[str], Query()] = None) -> Order:
    return Order(id=id, total=1, note=note)


@app.patch("/orders/{id}", operation_id="change")
def change(id: str, order: Order) -> Order:
    return order


@app.delete("/orders/{id}", operation_id="drop", status_code=204)
def drop(id: str) -> Response:
    return Response(status_code=204)


@app.get("/who", operation_id="who")
def who(x_client: Annotated[str, Header()], session: Annotated[str, Cookie()]) -> dict[str, str]:
    return {"client": x_client, "session": session}


@app.post("/login", operation_id="login")
def login(user: Annotated[str, Form()], roles: Annotated[list[str], Form()]) -> dict[str, list[str]]:
    return {user: roles}


class Stored(BaseModel):
    size: int
    names: list[str]
    about: str


@app.post("/files", operation_id="upload")
async def upload(files: Annotated[list[UploadFile], File()], about: Annotated[str, Form()]) -> Stored:
    contents = [await one.read() for one in files]
    return Stored(size=sum(map(len, contents)), names=[one.filename or "" for one in files], about=about)


@app.post("/pay", operation_id="pay")
def pay(means: Annotated[Union[Card, Cash], Field(discriminator="kind")]) -> Union[Card, Cash]:
    return means


@app.post("/sum", operation_id="sum")
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.get("/motd", operation_id="motd", response_class=PlainTextResponse)
def motd() -> str:
    return "good morning"


@app.get("/picture", operation_id="picture", response_class=Response, responses={200: {"content": {"image/png": {}}}})
def picture() -> Response:
    return Response(bytes([137, 80, 78, 71, 0, 255]), media_type="image/png")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import uvicorn

        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
    else:
        print(json.dumps(app.openapi()))

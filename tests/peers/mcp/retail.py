"""An MCP server over standard input and output: the shop of tau-bench's retail domain. Takes the folder with the tables
(`orders.json`, `products.json`, `users.json`) and the tools (`retail-tools.jsonl`), and the file in which it keeps the rows that
calls have changed: they are read when it starts, and written before the call that changed them is answered."""

import ast
import copy
import json
import operator
import os
import pathlib
import sys

folder, kept = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
# Tools that change no row; the others change what people would have to change back.
READS = ("calculate", "find", "get", "list", "think", "transfer")


class Refused(Exception):
    """Something that the shop does not do. Told as a text, as the benchmark has it, and not as an error of the protocol."""


class Table(dict):
    """The rows of a table, read when one of them is first asked for."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        # Every row that was handed out, as it was in the table.
        self.before = {}
        self.is_read = False

    def rows(self):
        if not self.is_read:
            self.is_read = True
            self.update(json.loads((folder / f"{self.name}.json").read_text("utf-8")))
            for key, row in KEPT.get(self.name, {}).items():
                self.before[key] = self[key]
                self[key] = row
        return self

    def row(self, key, what):
        if key not in self.rows():
            raise Refused(f"{what} not found")
        if key not in self.before:
            self.before[key] = copy.deepcopy(self[key])
        return self[key]

    def changed(self):
        return {key: self[key] for key, before in self.before.items() if self[key] != before}


KEPT = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
orders, products, users = tables = [Table(name) for name in ("orders", "products", "users")]


def keep():
    """Writes the changed rows, all or none."""
    written = kept.with_name(kept.name + ".new")
    written.write_text(json.dumps({table.name: table.rows().changed() for table in tables}), "utf-8")
    os.replace(written, kept)


def order_of(order_id, status, refusal):
    order = orders.row(order_id, "order")
    if order["status"] != status:
        raise Refused(refusal)
    return order


def payment_of(order, payment_method_id):
    """Who has ordered, and a way of theirs to pay."""
    user = users.row(order["user_id"], "user")
    if payment_method_id not in user["payment_methods"]:
        raise Refused("payment method not found")
    return user, user["payment_methods"][payment_method_id]


def cents(amount):
    return round(amount, 2)


def swapped(order, item_ids, new_item_ids):
    """What it costs to get other items of the same products in place of some of an order."""
    owned = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > owned.count(item_id):
            raise Refused(f"{item_id} not found")
    if len(item_ids) != len(new_item_ids):
        raise Refused("the number of items to be exchanged should match")
    difference, variants = 0, []
    for item_id, new_item_id in zip(item_ids, new_item_ids):
        item = next(item for item in order["items"] if item["item_id"] == item_id)
        variant = products.row(item["product_id"], "product")["variants"].get(new_item_id)
        if not (variant and variant["available"]):
            raise Refused(f"new item {new_item_id} not found or available")
        difference += variant["price"] - item["price"]
        variants.append((item_id, variant))
    return difference, variants


def find_user_id_by_email(email):
    for user_id, user in users.rows().items():
        if user["email"].lower() == email.lower():
            return user_id
    raise Refused("user not found")


def find_user_id_by_name_zip(first_name, last_name, zip):
    wanted = (first_name.lower(), last_name.lower(), zip)
    for user_id, user in users.rows().items():
        if (user["name"]["first_name"].lower(), user["name"]["last_name"].lower(), user["address"]["zip"]) == wanted:
            return user_id
    raise Refused("user not found")


def get_order_details(order_id):
    return orders.row(order_id, "order")


def get_product_details(product_id):
    return products.row(product_id, "product")


def get_user_details(user_id):
    return users.row(user_id, "user")


def list_all_product_types():
    return dict(sorted((product["name"], product["product_id"]) for product in products.rows().values()))


def calculate(expression):
    operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            return operators[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        raise Refused("invalid characters in expression")

    return str(cents(float(value(ast.parse(expression, mode="eval").body))))


def think(thought):
    return ""


def transfer_to_human_agents(summary):
    return "Transfer successful"


def cancel_pending_order(order_id, reason):
    order = order_of(order_id, "pending", "non-pending order cannot be cancelled")
    if reason not in ("no longer needed", "ordered by mistake"):
        raise Refused("invalid reason")
    refunds = []
    for payment in order["payment_history"]:
        method = payment["payment_method_id"]
        refunds.append({"transaction_type": "refund", "amount": payment["amount"], "payment_method_id": method})
        if "gift_card" in method:
            user, card = payment_of(order, method)
            card["balance"] = cents(card["balance"] + payment["amount"])
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"].extend(refunds)
    return order


def exchange_delivered_order_items(order_id, item_ids, new_item_ids, payment_method_id):
    order = order_of(order_id, "delivered", "non-delivered order cannot be exchanged")
    difference, _ = swapped(order, item_ids, new_item_ids)
    difference = cents(difference)
    _, method = payment_of(order, payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise Refused("insufficient gift card balance to pay for the price difference")
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return order


def return_delivered_order_items(order_id, item_ids, payment_method_id):
    order = order_of(order_id, "delivered", "non-delivered order cannot be returned")
    payment_of(order, payment_method_id)
    original = order["payment_history"][0]["payment_method_id"]
    if "gift_card" not in payment_method_id and payment_method_id != original:
        raise Refused("payment method should be either the original payment method or a gift card")
    owned = [item["item_id"] for item in order["items"]]
    if any(item_ids.count(item_id) > owned.count(item_id) for item_id in item_ids):
        raise Refused("some item not found")
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return order


def modify_pending_order_address(order_id, **address):
    order = order_of(order_id, "pending", "non-pending order cannot be modified")
    order["address"] = {part: address[part] for part in ("address1", "address2", "city", "state", "country", "zip")}
    return order


def modify_user_address(user_id, **address):
    user = users.row(user_id, "user")
    user["address"] = {part: address[part] for part in ("address1", "address2", "city", "state", "country", "zip")}
    return user


def modify_pending_order_payment(order_id, payment_method_id):
    order = order_of(order_id, "pending", "non-pending order cannot be modified")
    user, method = payment_of(order, payment_method_id)
    history = order["payment_history"]
    if len(history) > 1 or history[0]["transaction_type"] != "payment":
        raise Refused("there should be exactly one payment for a pending order")
    before, amount = history[0]["payment_method_id"], history[0]["amount"]
    if before == payment_method_id:
        raise Refused("the new payment method should be different from the current one")
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refused("insufficient gift card balance to pay for the order")
    history.append({"transaction_type": "payment", "amount": amount, "payment_method_id": payment_method_id})
    history.append({"transaction_type": "refund", "amount": amount, "payment_method_id": before})
    for changed, by in ((payment_method_id, -amount), (before, amount)):
        if "gift_card" in changed:
            card = user["payment_methods"][changed]
            card["balance"] = cents(card["balance"] + by)
    return order


def modify_pending_order_items(order_id, item_ids, new_item_ids, payment_method_id):
    order = order_of(order_id, "pending", "non-pending order cannot be modified")
    difference, variants = swapped(order, item_ids, new_item_ids)
    user, method = payment_of(order, payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise Refused("insufficient gift card balance to pay for the new item")
    order["payment_history"].append({
        "transaction_type": "payment" if difference > 0 else "refund",
        "amount": abs(difference), "payment_method_id": payment_method_id})
    if method["source"] == "gift_card":
        method["balance"] = cents(method["balance"] - difference)
    for item_id, variant in variants:
        item = next(item for item in order["items"] if item["item_id"] == item_id)
        item.update(item_id=variant["item_id"], price=variant["price"], options=variant["options"])
    order["status"] = "pending (item modified)"
    return order


def described(tool):
    reads = tool["name"].split("_")[0] in READS
    return {"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"],
            "annotations": {"readOnlyHint": reads, "destructiveHint": not reads, "openWorldHint": False}}


TOOLS = [described(json.loads(line)) for line in (folder / "retail-tools.jsonl").read_text("utf-8").splitlines()]
NAMES = {tool["name"] for tool in TOOLS}


def called(name, arguments):
    try:
        result = globals()[name](**arguments)
    except Refused as refused:
        return f"Error: {refused}"
    if not name.startswith(READS):
        keep()
    return result if isinstance(result, str) else json.dumps(result)


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "retail", "version": "1.0.0"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] in NAMES:
        return {"content": [{"type": "text", "text": called(params["name"], params.get("arguments", {}))}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "there is no such method"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
    sys.stdout.flush()

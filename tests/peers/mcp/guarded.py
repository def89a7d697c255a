"""An MCP server of HTTP that wants a login, with its authorization server. Takes its folder, and writes its port to its standard
output. Files there change what it does: `other-metadata` and `other-answer` make the authorization server call itself another
one, `refusing` has it refuse the person, `moved` names another authorization server, `away` one at the name `localhost`,
`away-token` only its token endpoint there, `revoked` refuses every token so far,
`wider` wants a further scope for calls. What it was asked for is in `asked`."""

import http.server
import json
import pathlib
import sys
import urllib.parse

folder = pathlib.Path(sys.argv[1])
EVIL = "https://evil.example"
TOOL = {"name": "whisper", "description": "Gives back the token.", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True}}
challenges = {}
tokens = {}


def on(name):
    return (folder / name).exists()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, body=None, **headers):
        content = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def note(self, what):
        with open(folder / "asked", "a", encoding="utf-8") as asked:
            asked.write(what + "\n")

    def do_GET(self):
        path, _, query = self.path.partition("?")
        name = "as2" if on("moved") else "as"
        if path == "/.well-known/oauth-protected-resource/mcp":
            self.give(200, {"resource": f"{BASE}/mcp", "authorization_servers": [f"{AWAY if on('away') else BASE}/{name}"]})
        elif path.startswith("/.well-known/oauth-authorization-server/"):
            issuer = f"{AWAY if on('away') else BASE}/{path.rsplit('/', 1)[1]}"
            token = f"{AWAY}/as/token" if on("away-token") else f"{issuer}/token"
            self.give(200, {"issuer": EVIL if on("other-metadata") else issuer, "authorization_endpoint": "javascript:alert(1)//" if on("script") else f"{issuer}/authorize",
                            "token_endpoint": token, "registration_endpoint": f"{issuer}/register",
                            "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"]})
        elif path.endswith("/authorize"):
            asked = dict(urllib.parse.parse_qsl(query))
            self.note(f"authorize {asked.get('scope')} {asked['code_challenge_method']}")
            code = f"code-{len(challenges)}"
            challenges[code] = asked["code_challenge"]
            own = AWAY if on("away") else BASE
            issuer = EVIL if on("other-answer") else f"{own}{path.removesuffix('/authorize')}"
            answer = {"error": "access_denied"} if on("refusing") else {"code": code}
            back = urllib.parse.urlencode({**answer, "state": asked["state"], "iss": issuer})
            self.give(302, location=f"{asked['redirect_uri']}?{back}")
        else:
            self.give(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/register"):
            self.give(201, {"client_id": "client-1", **json.loads(body)})
        elif self.path.endswith("/token"):
            asked = dict(urllib.parse.parse_qsl(body.decode()))
            self.note(f"token {asked['grant_type']}")
            token = f"secret-token-number-{len(tokens)}"
            tokens[token] = True
            self.give(200, {"access_token": token, "token_type": "Bearer", "expires_in": 1 if on("short") else 3600,
                            "refresh_token": f"secret-refresh-number-{len(tokens)}"})
        else:
            self.speak(json.loads(body))

    def speak(self, request):
        token = (self.headers["authorization"] or "").removeprefix("Bearer ")
        where = f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
        if token not in tokens or (on("revoked") and token == "secret-token-number-0"):
            return self.give(401, www_authenticate=f'Bearer {where}, scope="notes"')
        method = request["method"]
        if method == "tools/call" and on("wider"):
            return self.give(403, www_authenticate=f'Bearer error="insufficient_scope", scope="notes:write", {where}')
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "guarded", "version": "1"}},
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": f"it is {token}"}]},
        }
        if "id" not in request:
            return self.give(202)
        if method in results:
            return self.give(200, {"jsonrpc": "2.0", "id": request["id"], "result": results[method]})
        return self.give(200, {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
BASE = f"http://127.0.0.1:{server.server_address[1]}"
AWAY = f"http://localhost:{server.server_address[1]}"
print(server.server_address[1], flush=True)
server.serve_forever()

"""An MCP server on HTTP that wants a login, and the place to log in at, on one loopback port.

guarded.py SEEN: prints its URL; whatever comes with credentials is noted in the file SEEN.
"""

import base64
import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

SEEN = sys.argv[1]
CODES = {}
TOKENS = set()
FRESH = {"count": 0}


def note(line):
    with open(SEEN, "a", encoding="utf-8") as seen:
        seen.write(line + "\n")


def grant():
    FRESH["count"] += 1
    token = f"access-{FRESH['count']}-of-the-guarded-server"
    TOKENS.clear()
    TOKENS.add(token)
    # Runs out at once: the next request has to renew it.
    return {"access_token": token, "token_type": "Bearer", "expires_in": 1,
            "refresh_token": f"refresh-{FRESH['count']}-of-the-guarded-server"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        url = urlsplit(self.path)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            return self.answer(200, {"resource": f"{base}/mcp", "authorization_servers": [base]})
        if url.path.startswith("/.well-known/oauth-authorization-server"):
            return self.answer(200, {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                "token_endpoint_auth_methods_supported": ["none"],
            })
        if url.path == "/authorize":
            asked = {key: values[0] for key, values in parse_qs(url.query).items()}
            CODES["the-code"] = asked["code_challenge"]
            note(f"authorize {asked['code_challenge_method']} {asked.get('resource')}")
            back = urlencode({"code": "the-code", "state": asked["state"], "iss": base})
            return self.answer(302, Location=f"{asked['redirect_uri']}?{back}")
        return self.answer(405 if url.path == "/mcp" else 404)

    def do_DELETE(self):
        self.answer(405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/register":
            return self.answer(201, {"client_id": "haft-1", **json.loads(body)})
        if self.path == "/token":
            asked = {key: values[0] for key, values in parse_qs(body).items()}
            note(f"token {asked['grant_type']}")
            if asked["grant_type"] == "authorization_code":
                digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if CODES.pop(asked["code"], None) != challenge:
                    return self.answer(400, {"error": "invalid_grant"})
            elif asked["refresh_token"] != f"refresh-{FRESH['count']}-of-the-guarded-server":
                return self.answer(400, {"error": "invalid_grant"})
            return self.answer(200, grant())
        return self.mcp(body)

    def mcp(self, body):
        token = self.headers.get("Authorization", "")
        if token:
            note(f"mcp {token}")
        if token.removeprefix("Bearer ") not in TOKENS:
            base = f"http://127.0.0.1:{self.server.server_port}"
            meta = f"{base}/.well-known/oauth-protected-resource"
            return self.answer(401, WWW_Authenticate=f'Bearer resource_metadata="{meta}"')
        request = json.loads(body)
        if "id" not in request:
            return self.answer(202)
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "hello, friend"}]},
        }
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in results:
            answer["result"] = results[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        return self.answer(200, answer)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
server.serve_forever()

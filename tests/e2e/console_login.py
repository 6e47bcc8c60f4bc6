#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs in over HTTPS by the link that `skein console` printed, as a browser does, and out again.

console_login.py LINK CA    LINK: https://HOST:PORT/login#c=CODE
"""
import http.client
import json
import re
import ssl
import sys
from urllib.parse import urlsplit

link, ca = sys.argv[1:]
place = urlsplit(link)
origin = f"{place.scheme}://{place.netloc}"
code = place.fragment.removeprefix("c=")


def ask(method, path, body=None, **headers):
    connection = http.client.HTTPSConnection(place.netloc, context=ssl.create_default_context(cafile=ca), timeout=20)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r}, not {wanted!r}")


assert place.path == "/login" and len(code) == 43, link
page = {"Origin": origin, "Sec_Fetch_Site": "same-origin", "Content_Type": "application/json"}
status, _, _ = ask("POST", "/session", {"code": code}, Content_Type="application/json",
                   Origin=origin.replace("https", "http"))
expect("a page that came over plain HTTP", status, 403)
status, headers, _ = ask("POST", "/session", {"code": code}, **page)
expect("the login", status, 204)
name, *attributes = headers["Set-Cookie"].split("; ")
expect("the cookie's attributes", attributes, ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"])
expect("the cookie's name is this collector's", bool(re.fullmatch("__Host-skein-[0-9a-f]{8}", name.split("=")[0])), True)
expect("the code once more", ask("POST", "/session", {"code": code}, **page)[0], 401)

status, _, body = ask("GET", "/whoami", Cookie=name)
who = json.loads(body)
expect("who it is", (status, who["name"], who["via"]), (200, "ada", "session"))
rule = {"selector": "a=b", "when": {"schedule": {"every_ms": 60000}}, "capture": {"pre_ms": 1000, "post_ms": 0}}
expect("a change by a page of another place", ask("PUT", "/rules/r", rule, Cookie=name, Content_Type="application/json",
                                                  Origin="https://evil.example")[0], 403)
expect("a change by the console", ask("PUT", "/rules/r", rule, Cookie=name, **page)[0], 201)
expect("the logout", ask("DELETE", "/session", Cookie=name, Origin=origin)[0], 204)
expect("after it", ask("GET", "/whoami", Cookie=name)[0], 401)

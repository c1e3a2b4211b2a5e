"""One HTTP request on a connection of its own, and its answer; headers may repeat and lie."""

import http.client
import json

SECONDS = 40


class Answer:
    def __init__(self, method, response):
        self.method = method
        self.status = response.status
        self.headers = response.getheaders()
        self.body = response.read()

    def header(self, name):
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return values[0] if len(values) == 1 else None

    def value(self):
        return json.loads(self.body.decode())


class Request:
    """One request; the defaults make it a right one."""

    def __init__(self, method, target, body=None, headers=()):
        self.method = method
        self.target = target
        self.body = body
        self.headers = dict(headers)
        self.more_headers = []
        self.announced = None  # a Content-Length with nothing behind it
        if body is not None:
            self.headers.setdefault("Content-Type", "application/json")

    def change_headers(self, changes):
        for name, value in changes:
            self.headers.pop(name, None)
            if value is not None:
                self.more_headers.append((name, value))

    def send(self, place):
        connection = http.client.HTTPConnection(place, timeout=SECONDS)
        try:
            connection.putrequest(self.method, self.target, skip_accept_encoding=True)
            for name, value in list(self.headers.items()) + self.more_headers:
                connection.putheader(name, value)
            if self.announced is not None:
                connection.putheader("Content-Length", str(self.announced))
            elif self.body is not None:
                connection.putheader("Content-Length", str(len(self.body)))
            connection.endheaders()
            if self.body is not None and self.announced is None:
                connection.send(self.body)
            return Answer(self.method, connection.getresponse())
        finally:
            connection.close()

    def __str__(self):
        headers = list(self.headers.items()) + self.more_headers
        return f"{self.method} {self.target[:200]} {str(headers)[:200]} {str(self.body)[:300]}"

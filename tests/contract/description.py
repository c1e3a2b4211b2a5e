"""What an OpenAPI document promises, and whether an answer keeps it.

An answer is judged by its operation alone: the status must be listed there, the content type must
be one of that status, the headers that are described must be there (see OPTIONAL), the body must
match the schema, and the code of a problem must be among those that the response's description
names. Unknown formats are not ignored: a schema with a format that FORMATS lacks is an error.
"""

import json
import re
import uuid

import jsonschema

METHODS = ("get", "post", "put", "patch", "delete")
OPTIONAL = ("Idempotent-Replayed",)  # says something by being there

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
FORMATS = {
    "uuid": lambda text: str(uuid.UUID(text)) == text,
    "date-time": lambda text: TIME.match(text) is not None,
    "uri-reference": lambda text: re.match(r"^[!-~]+$", text) is not None,
    "json-pointer": lambda text: re.match(r"^(/([^~/]|~[01])*)*$", text) is not None,
}


def format_checker():
    checker = jsonschema.FormatChecker(formats=())
    for name, matches in FORMATS.items():
        checker.checks(name, raises=ValueError)(
            lambda value, matches=matches: not isinstance(value, str) or matches(value))
    return checker


class Operation:
    def __init__(self, description, method, path):
        item = description.document["paths"][path]
        self.description = description
        self.method = method.upper()
        self.path = path
        self.what = item[method]
        self.name = self.what["operationId"]
        parameters = item.get("parameters", []) + self.what.get("parameters", [])
        self.parameters = [description.resolve(parameter) for parameter in parameters]

    def parameters_in(self, place):
        return [parameter for parameter in self.parameters if parameter["in"] == place]

    def body_schema(self):
        """The schema of the request's body, None without one."""
        content = self.what.get("requestBody", {}).get("content", {})
        return content.get("application/json", {}).get("schema")

    def judge(self, answer):
        """What is wrong with an answer to this operation, as a list of sentences."""
        response = self.what["responses"].get(str(answer.status))
        if response is None:
            return [f"status {answer.status} is not described"]
        response = self.description.resolve(response)
        return (self.judge_headers(response, answer) + self.judge_body(response, answer))

    def judge_headers(self, response, answer):
        faults = []
        for name, header in response.get("headers", {}).items():
            value = answer.header(name)
            if value is None:
                faults += [] if name in OPTIONAL else [f"header {name} is missing"]
                continue
            schema = self.description.resolve(header)["schema"]
            if schema.get("type") == "integer" and value.isdigit():
                value = int(value)
            faults += [f"header {name}: {fault}"
                       for fault in self.description.faults(schema, value)]
        for name in ("Location", "Retry-After", "Idempotent-Replayed", "Allow"):
            if answer.header(name) is not None and name not in response.get("headers", {}):
                faults.append(f"header {name} is not described")
        return faults

    def judge_body(self, response, answer):
        content = response.get("content")
        if content is None:
            return ["a body is not described"] if answer.body else []
        kind = (answer.header("Content-Type") or "").split(";")[0]
        if kind not in content:
            return [f"content type '{kind}' is not described"]
        if answer.method == "HEAD":
            return ["HEAD has a body"] if answer.body else []
        if kind == "text/plain":
            return self.description.faults(content[kind]["schema"], answer.body.decode())
        try:
            value = json.loads(answer.body.decode())
        except ValueError as error:
            return [f"the body is no JSON: {error}"]
        faults = self.description.faults(content[kind]["schema"], value)
        if kind == "application/problem+json" and not faults:
            faults = judge_problem(response, answer, value)
        return faults


def judge_problem(response, answer, problem):
    faults = []
    codes = re.search(r"\(codes: ([^)]*)\)", response["description"])
    if codes is None or problem["code"] not in codes.group(1).split(", "):
        faults.append(f"code {problem['code']} is not described for {answer.status}")
    if problem["status"] != answer.status:
        faults.append(f"the problem says status {problem['status']}")
    if problem["type"] != "/problems/" + problem["code"]:
        faults.append(f"type {problem['type']} does not belong to code {problem['code']}")
    if problem["request_id"] != answer.header("X-Request-Id"):
        faults.append("request_id and X-Request-Id differ")
    if problem["retryable"] != ("retry_after_ms" in problem):
        faults.append("retryable and retry_after_ms do not belong together")
    return faults


class Description:
    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver.from_schema(document)
        self.formats = format_checker()
        unknown = set(formats_of(document["components"]["schemas"])) - set(FORMATS)
        if unknown:
            raise ValueError(f"formats that this test does not know: {unknown}")

    def resolve(self, thing):
        while "$ref" in thing:
            thing = self.resolver.resolve(thing["$ref"])[1]
        return thing

    def faults(self, schema, value):
        """Where a value does not match a schema; empty if it does."""
        validator = jsonschema.Draft202012Validator(
            schema, resolver=self.resolver, format_checker=self.formats)
        return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                for error in validator.iter_errors(value)]

    def operations(self):
        return [Operation(self, method, path)
                for path, item in self.document["paths"].items()
                for method in METHODS if method in item]

    def methods_of(self, path):
        """What Allow has to name."""
        methods = {method.upper() for method in METHODS if method in self.document["paths"][path]}
        return methods | ({"HEAD"} if "GET" in methods else set())


def formats_of(thing):
    if isinstance(thing, dict):
        if isinstance(thing.get("format"), str):
            yield thing["format"]
        thing = list(thing.values())
    if isinstance(thing, list):
        for part in thing:
            yield from formats_of(part)

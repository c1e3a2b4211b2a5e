"""Is the OpenAPI document itself well made? Checked here, since Debian has no linter for OpenAPI 3.1:
the rules of Redocly's `recommended` set that a document of this kind can break, without the network.
Where `redocly` (@redocly/cli) is installed it is asked too.

Checked: every $ref leads somewhere, and every component is used; every schema is one; operations
have unique ids, a summary, declared tags, an answer of 2xx and one of 4xx, and, once security
schemes are declared, security; parameters of a path are in its template and the other way round, and
no parameter stands twice; no two paths are the same but for the names of their parameters; tags are
described.
"""

import collections
import json
import re
import shutil
import subprocess
import tempfile

import jsonschema

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


def references(thing):
    """All values of $ref, wherever they stand."""
    if isinstance(thing, dict):
        if isinstance(thing.get("$ref"), str):
            yield thing["$ref"]
        thing = list(thing.values())
    if isinstance(thing, list):
        for part in thing:
            yield from references(part)


def schemas_in(thing, where=""):
    """(place, schema): what stands under "schema", and the schemas among the components."""
    if isinstance(thing, dict):
        for name, part in thing.items():
            if name == "schema":
                yield f"{where}/schema", part
            elif name == "schemas" and where == "/components":
                for title, schema in part.items():
                    yield f"{where}/{name}/{title}", schema
            else:
                yield from schemas_in(part, f"{where}/{name}")
    elif isinstance(thing, list):
        for number, part in enumerate(thing):
            yield from schemas_in(part, f"{where}/{number}")


class Document:
    def __init__(self, document):
        self.document = document
        self.components = document.get("components", {})

    def target(self, reference):
        """What a $ref leads to, None if nowhere."""
        if not reference.startswith("#/"):
            return None
        thing = self.document
        for part in reference[2:].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(thing, dict) or part not in thing:
                return None
            thing = thing[part]
        return thing

    def operations(self):
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    def judge_references(self):
        used = set(references(self.document))
        faults = [f"{reference} leads nowhere" for reference in sorted(used)
                  if self.target(reference) is None]
        for kind, things in self.components.items():
            if kind == "securitySchemes":
                continue
            faults += [f"component {kind}/{name} is not used" for name in things
                       if f"#/components/{kind}/{name}" not in used]
        return faults

    def judge_schemas(self):
        faults = []
        for place, schema in schemas_in(self.document):
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
            except jsonschema.SchemaError as error:
                faults.append(f"{place} is no schema: {error.message}")
        return faults

    def judge_operation(self, name, what):
        declared = {tag["name"] for tag in self.document.get("tags", [])}
        statuses = what.get("responses", {})
        faults = [f"{name} has no {field}" for field in ("operationId", "summary", "tags")
                  if not what.get(field)]
        faults += [f"{name}: tag {tag} is not declared"
                   for tag in what.get("tags", []) if tag not in declared]
        for kind in ("2", "4"):
            if not any(status.startswith(kind) for status in statuses):
                faults.append(f"{name} has no answer of {kind}xx")
        faults += [f"{name}: {status} is no status" for status in statuses
                   if not re.fullmatch(r"[1-5]\d\d|default", status)]
        return faults + self.judge_security(name, what)

    def judge_security(self, name, what):
        schemes = self.components.get("securitySchemes", {})
        security = what.get("security", self.document.get("security"))
        if not schemes:
            return []
        if security is None:
            return [f"{name} has no security"]
        return [f"{name}: security {scheme} is not declared" for requirement in security
                for scheme in requirement if scheme not in schemes]

    def judge_parameters(self, path, method):
        item = self.document["paths"][path]
        parameters = [self.target(one["$ref"]) or {} if "$ref" in one else one
                      for one in item.get("parameters", []) + item[method].get("parameters", [])]
        seen = collections.Counter((one.get("in"), one.get("name")) for one in parameters)
        faults = [f"{method} {path}: {name} stands twice" for (_, name), count in seen.items()
                  if count > 1]
        wanted = set(re.findall(r"\{([^}]*)\}", path))
        have = {one["name"] for one in parameters if one.get("in") == "path"}
        faults += [f"{method} {path}: {name} is declared or in the path, and not both"
                   for name in sorted(wanted ^ have)]
        faults += [f"{method} {path}: {one['name']} is not required" for one in parameters
                   if one.get("in") == "path" and one.get("required") is not True]
        return faults + [f"{method} {path}: {one.get('name')} has no schema" for one in parameters
                         if "schema" not in one and "content" not in one]

    def judge_paths(self):
        shapes = collections.Counter(re.sub(r"\{[^}]*\}", "{}", path)
                                     for path in self.document["paths"])
        faults = [f"{shape} stands {count} times" for shape, count in shapes.items() if count > 1]
        ids = collections.Counter(what.get("operationId") for _, _, what in self.operations())
        faults += [f"operationId {name} stands {count} times" for name, count in ids.items()
                   if count > 1]
        for path, method, what in self.operations():
            faults += self.judge_operation(f"{method} {path}", what)
            faults += self.judge_parameters(path, method)
        return faults

    def judge_head(self):
        info = self.document.get("info", {})
        faults = [f"info has no {field}" for field in ("title", "version", "license")
                  if not info.get(field)]
        faults += [f"tag {tag.get('name')} is not described"
                   for tag in self.document.get("tags", []) if not tag.get("description")]
        if not self.document.get("openapi", "").startswith("3.1."):
            faults.append("it is not OpenAPI 3.1")
        if not self.document.get("servers"):
            faults.append("it names no server")
        return faults


def judge_by_redocly(document):
    if shutil.which("redocly") is None:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        run = subprocess.run(["redocly", "lint", "--extends", "recommended", file.name], text=True,
                             timeout=120, capture_output=True, check=False)
    clean = run.returncode == 0 and "warning" not in run.stderr
    return [] if clean else [f"redocly: {run.stdout}{run.stderr}"]


def judge(document):
    """What is wrong with a document, as a list of sentences."""
    checked = Document(document)
    return (checked.judge_head() + checked.judge_references() + checked.judge_schemas() +
            checked.judge_paths() + judge_by_redocly(document))

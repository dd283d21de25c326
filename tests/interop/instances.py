"""Makes an instance of a JSON Schema, as far as real tools need it."""
import re


def instance_of(schema, root=None, depth=0):
    """The smallest instance that is easy to find: required members only. Whether it is one is for a validator to say."""
    root = schema if root is None else root
    if schema is True or schema == {} or depth > 20:
        return "x"
    if "$ref" in schema:
        return instance_of(_resolve(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    merged = dict(schema)
    for part in schema.get("allOf", []):
        part = _resolve(part["$ref"], root) if "$ref" in part else part
        merged = {**merged, **part,
                  "properties": {**merged.get("properties", {}), **part.get("properties", {})},
                  "required": list(dict.fromkeys(merged.get("required", []) + part.get("required", [])))}
    merged = {k: v for k, v in merged.items() if v != {} or k not in ("properties",)}
    if not merged.get("required"):
        merged.pop("required", None)
    for keyword in ("anyOf", "oneOf"):
        if merged.get(keyword) and "type" not in merged and "properties" not in merged:
            return instance_of(merged[keyword][0], root, depth + 1)
    if merged.get("type") == "object" or "properties" in merged:
        for keyword in ("anyOf", "oneOf"):
            if merged.get(keyword):
                merged.setdefault("required", [])
                merged["required"] = merged["required"] + merged[keyword][0].get("required", [])
    kind = merged.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind is None:
        kind = "object" if "properties" in merged else "array" if "items" in merged else "string"
    return MAKERS[kind](merged, root, depth)


def _resolve(reference, root):
    at = root
    for step in reference.lstrip("#").strip("/").split("/"):
        if step:
            step = step.replace("~1", "/").replace("~0", "~")
            at = at[int(step)] if isinstance(at, list) else at[step]
    return at


def _object(schema, root, depth):
    made = {name: instance_of(schema.get("properties", {}).get(name, True), root, depth + 1)
            for name in schema.get("required", [])}
    for i in range(schema.get("minProperties", 0) - len(made)):
        extra = schema.get("additionalProperties", True)
        made[f"key{i}"] = instance_of(extra if isinstance(extra, dict) else True, root, depth + 1)
    return made


def _array(schema, root, depth):
    items = schema.get("items", True)
    prefix = schema.get("prefixItems", items if isinstance(items, list) else [])
    made = [instance_of(part, root, depth + 1) for part in prefix]
    while len(made) < schema.get("minItems", 0):
        made.append(instance_of(items if isinstance(items, dict) else True, root, depth + 1))
    return made


def _number(schema, *_):
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    if low is not None:
        value = low + 1 if "exclusiveMinimum" in schema else low
    else:
        value = min(1, schema.get("maximum", 1))
    return int(value) if schema.get("type") == "integer" else value


FORMATS = {"uri": "https://example.com/", "url": "https://example.com/", "email": "a@example.com",
           "date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02",
           "uuid": "00000000-0000-4000-8000-000000000000"}
SHAPES = ["2026-01-02", "a", "abc123", "ABC", "https://example.com", "/a", "1", "#ffffff", "a/b", "12:00",
          "2026-01-02T03:04:05Z", "00000000-0000-4000-8000-000000000000", "a@b.co", "0x1", "1:2", "a.b", "2026-01",
          "2026", "1-00000000-0000-4000-8000-000000000000", "AS1234", "AAPL", "@a", "U123", "C0123456789", "10.1000/x", "1d", "a-b", "ref-1", "$1.00", "1,2"]


def _string(schema, *_):
    if "pattern" in schema:
        pattern = re.compile(schema["pattern"])
        return next((shape for shape in SHAPES if pattern.search(shape)), "x")
    return FORMATS.get(schema.get("format"), "x" * max(1, schema.get("minLength", 1)))


MAKERS = {"object": _object, "array": _array, "integer": _number, "number": _number, "string": _string,
          "boolean": lambda *_: True, "null": lambda *_: None}

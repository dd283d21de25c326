"""Values to try on a schema: a whole one, a bare one, and these with one or two things changed."""
import copy
import random

from instances import instance_of

STRANGE = [None, True, False, 0, -1, 1, 1.5, 1.0, 1e3, 2**53, "", "x", "5", "true", "null", "é", [], [None], {}, {"a": 1}]


def whole(schema, root=None, depth=0):
    """With every property that is declared, as far as it is easy to find."""
    root = schema if root is None else root
    value = instance_of(schema, root)
    if isinstance(schema, dict) and isinstance(value, dict) and depth < 5:
        for name, sub in (schema.get("properties") or {}).items():
            value[name] = whole(sub, root, depth + 1)
    return value


def places(value, path=()):
    """The paths of all values in it."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from places(each, (*path, i))


def mutate(value, dice):
    """A copy with one place changed."""
    value = copy.deepcopy(value)
    path = dice.choice(list(places(value)))
    if not path:
        return dice.choice(STRANGE) if dice.random() < 0.2 else {**value, "unknown_one": dice.choice(STRANGE)}
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    last = path[-1]
    act = dice.randrange(4)
    if act == 0:
        del holder[last]
    elif act == 1 and isinstance(holder[last], list):
        holder[last] += [dice.choice(STRANGE), *holder[last][:1]]
    elif act == 1 and isinstance(holder[last], dict):
        holder[last]["unknown_one"] = dice.choice(STRANGE)
    elif act == 1 and isinstance(holder[last], str):
        holder[last] = holder[last] * dice.choice([2, 100]) + dice.choice(["", " ", "\n", "Z"])
    elif act == 1 and isinstance(holder[last], (int, float)) and not isinstance(holder[last], bool):
        holder[last] += dice.choice([-1, 1, 0.5, 1000000])
    else:
        holder[last] = copy.deepcopy(dice.choice(STRANGE))
    return value


def instances(schema, seed, count):
    """`count` values, always the same for one seed."""
    dice = random.Random(seed)
    try:
        bases = [whole(schema), instance_of(schema)]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        bases = [{}]
    bases = [base for base in bases if isinstance(base, dict)] or [{}]
    made = [*bases, {}]
    while len(made) < count:
        value = mutate(dice.choice(bases), dice)
        if isinstance(value, dict) and dice.random() < 0.3:
            value = mutate(value, dice)
        made.append(value)
    return made[:count]

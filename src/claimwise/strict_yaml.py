"""YAML as this project reads it: safely, and no key twice."""

from __future__ import annotations

import yaml


class Loader(yaml.SafeLoader):
    """YAML's safe loader takes the last of two equal keys: an entry pasted below would undo the whole of `models`."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """See ``yaml.constructor``.

        Raises:
            yaml.constructor.ConstructorError: a key stands twice.

        >>> yaml.load("{a: 1, a: 2}", Loader=Loader)
        Traceback (most recent call last):
        ...
        yaml.constructor.ConstructorError: key 'a' stands twice; keep one...
        """
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} stands twice; keep one", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

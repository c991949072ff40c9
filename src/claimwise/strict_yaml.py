"""YAML as this project reads it: safely, no key twice, and of the size that it seems to have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import yaml

#: Nodes of a file, with every alias written out: ten lines of aliases of aliases may stand for billions.
_MOST = 1_000_000


class Loader(yaml.SafeLoader):
    """YAML's safe loader takes the last of two equal keys: an entry pasted below would undo the whole of `models`."""

    def get_single_data(self) -> object:
        """See ``yaml.Loader``.

        Raises:
            yaml.YAMLError: what is written is no YAML, cannot be read, or would be too much with its aliases written out.

        >>> yaml.load("a: &a [*a]", Loader=Loader)
        Traceback (most recent call last):
        ...
        yaml.constructor.ConstructorError: a value cannot be read: maximum recursion depth exceeded...
        """
        try:
            node = self.get_single_node()
            if node is None:
                return None
            if next(islice(_written_out(node), _MOST, None), None):
                raise yaml.constructor.ConstructorError(None, None, "aliases of aliases stand for too much; write less")
            return self.construct_document(node)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:  # 2001-99-99, [[[[...
            raise yaml.constructor.ConstructorError(None, None, f"a value cannot be read: {error}") from None

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        """See ``yaml.constructor``; half a character, which no file and no database takes, is a value that cannot be read."""
        text = super().construct_scalar(node)
        text.encode()
        return text

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


def _written_out(node: yaml.Node) -> Iterator[yaml.Node]:
    """A node and those within it, with every alias written out."""
    yield node
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in item if isinstance(item, tuple) else (item,):
            yield from _written_out(part)

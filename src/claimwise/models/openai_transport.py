"""HTTP calls to an OpenAI-compatible server, repeated as long as that makes sense.

Plain aiohttp: a call costs a fraction of what it costs in the vendor's client, so that one core keeps a server
busy with thousands of calls a second (see benchmarks/throughput.py).
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import random
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import aiohttp

_log = logging.getLogger(__name__)
_AGAIN = {408, 409, 425, 429}
_LONGEST_BACKOFF = 30.0
_LONGEST_ASKED = 300.0  # a server that asks for more (a spent daily quota) is not waited for
_CONNECT_SECONDS = 5.0
_FIRST_ATTEMPTS = 3  # to connect, as long as the server has never answered: it is not there, or not at this address
_WARN_SECONDS = 30.0


class Refused(Exception):
    """The server understood the request and will not serve it; asking again gives the same answer.

    Args:
        status: of HTTP.
        message: what the server says.
        details: the error object that it sends, which may name a code, a type and a parameter of the request.

    >>> Refused(400, "no", {"code": 400, "type": "content_filter", "param": "seed"}).codes
    ('content_filter',)
    """

    def __init__(self, status: int, message: str, details: Mapping[str, Any] | None = None):
        super().__init__(f"{message} (status {status})")
        details = details or {}
        self.status = status
        self.codes = tuple(code for name in ("code", "type") if isinstance(code := details.get(name), str))
        self.parameter = parameter if isinstance(parameter := details.get("param"), str) else None


class Unreachable(Exception):
    """No answer came after all attempts; the message says what came instead."""


class NeverReached(Unreachable):
    """No connection could be made, neither now nor before."""


class Transport:
    """Posts JSON and returns completions.

    Args:
        base_url: address up to ``/v1``.
        key: sent as a bearer token where it is not empty; no message or log shows it.
        timeout: seconds for one attempt.
        retries: further attempts after 408, 409, 425, 429, 5xx, time-outs, connections that fail or are cut, and
            answers that are no completion.
    """

    def __init__(self, base_url: str, key: str, timeout: float, retries: int):
        self._base_url, self._key, self._timeout, self._retries = base_url.rstrip("/"), key, timeout, retries
        self._proxy = _proxy(self._base_url)
        self._session: aiohttp.ClientSession | None = None
        self._not_before = 0.0  # of any call: a server that asks one call to wait means all of them
        self._answered = False  # whether the server has ever sent anything
        self._warned = -_WARN_SECONDS

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The completion that the server sends for a request.

        Raises:
            Refused: another 4xx.
            NeverReached: there is no server, known after a few seconds, or the address cannot be one.
            Unreachable: no completion came after all attempts, or the server asks to wait for longer than minutes.
        """
        url, data = f"{self._base_url}/{path}", json.dumps(body).encode()
        for attempt in range(self._retries + 1):
            if (pause := self._not_before - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            asked, raw = None, b""
            try:
                async with self._open().post(url, data=data, proxy=self._proxy, allow_redirects=False) as response:
                    self._answered = True
                    raw = await response.read()
                    if response.status == 200:
                        value = json.loads(raw)
                        if _is_completion(value):
                            return value
                        problem = f"an answer that is no completion: {self._message(raw)}"
                    else:
                        problem = f"{self._message(raw)} (status {response.status})"
                        if not _again(response.status, problem):
                            raise Refused(response.status, self._message(raw), _details(raw))
                        asked = _retry_after(response.headers)
            except aiohttp.InvalidURL:  # a ValueError, too; it would show the password of an address that has one
                raise NeverReached("`base_url` has no host, or a port that is not from 0 to 65535") from None
            except ValueError:  # a proxy's page, half a body
                problem = f"an answer that is no JSON: {self._message(raw)}"
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                problem = f"no connection: {self._clean(str(error))}"
                if not self._answered and attempt + 1 >= min(_FIRST_ATTEMPTS, self._retries + 1):
                    raise NeverReached(problem) from None
            except TimeoutError:
                problem = f"no answer within {self._timeout:g} s"
            except aiohttp.ClientError as error:
                problem = f"{type(error).__name__}: {self._clean(str(error))}"
            if asked is not None and asked > _LONGEST_ASKED:
                raise Unreachable(
                    f"{problem}; the server asks to wait {asked:.0f} s, over the limit of {_LONGEST_ASKED:.0f} s"
                )
            if attempt < self._retries:
                self._warn(problem)
                await self._wait(attempt, asked)
        raise Unreachable(f"{problem}, after {self._retries} retries")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(self._timeout, _CONNECT_SECONDS)),
                connector=aiohttp.TCPConnector(limit=0),  # the caller bounds what is in flight
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _warn(self, problem: str) -> None:
        """Say that calls are repeated, now and then: nobody should wonder why nothing moves."""
        if time.monotonic() - self._warned >= _WARN_SECONDS:
            self._warned = time.monotonic()
            _log.warning("%s: %s; trying again, up to %d times a call", self._base_url, problem, self._retries)

    async def _wait(self, attempt: int, asked: float | None) -> None:
        """At least as long as the server asks; its 0 is no leave to ask without a pause."""
        own = min(0.5 * 2**attempt, _LONGEST_BACKOFF) * random.uniform(0.5, 1.0)
        if asked is None:
            await asyncio.sleep(own)
            return
        if asked > 60:
            _log.warning("%s asks to wait %.0f s", self._base_url, asked)
        self._not_before = max(self._not_before, time.monotonic() + asked)
        await asyncio.sleep(max(asked + random.uniform(0.0, 0.1), own))  # not all at the same instant

    def _message(self, raw: bytes) -> str:
        """What an error's body says, shortened."""
        text = _details(raw).get("message") or raw.decode("utf-8", "replace")
        return self._clean(" ".join(str(text).split()))[:300]

    def _clean(self, text: str) -> str:
        """The text without the key, which some servers repeat."""
        return text.replace(self._key, "***") if self._key else text


def _proxy(address: str) -> str | None:
    """The proxy that the environment names for an address (http_proxy, https_proxy, no_proxy).

    Looked up once: aiohttp's own ``trust_env`` does so in a thread for every request, which doubles its cost.
    """
    parts = urllib.parse.urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith("http"):
        _log.warning(
            "the environment's proxy for %s is not used: expected http or https, got %s",
            address,
            proxy.partition("://")[0],
        )
        return None
    return proxy


def _is_completion(value: Any) -> bool:
    """Whether a value has a first choice that is an object.

    >>> _is_completion({"choices": [{"text": "Yes"}]}), _is_completion({"choices": ["Yes"]}), _is_completion("Yes")
    (True, False, False)
    """
    choices = value.get("choices") if isinstance(value, dict) else None
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def _details(raw: bytes) -> dict[str, Any]:
    """The error object of a body, in any of the forms in which servers send it; empty where there is none.

    >>> _details(b'{"error": {"message": "no", "code": 5}}'), _details(b'{"error": "no"}'), _details(b'{"message": "no"}')
    ({'message': 'no', 'code': 5}, {'message': 'no'}, {'message': 'no'})
    >>> _details(b"<html>"), _details(b"[]")
    ({}, {})
    """
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    error = (value.get("error") or value) if isinstance(value, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error)}


def _again(status: int, problem: str) -> bool:
    if "insufficient_quota" in problem or "exceeded your current quota" in problem:
        return False  # status 429, but no waiting helps
    if "validation error" in problem:
        return False  # llama-cpp-python says so with status 500
    return status in _AGAIN or status >= 500


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, in any of the three forms that servers use.

    >>> _retry_after({"Retry-After": "1.5"}), _retry_after({"retry-after-ms": "200"}), _retry_after({})
    (1.5, 0.2, None)
    """
    lower = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(lower[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, email.utils.parsedate_to_datetime(lower["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError):
        return None

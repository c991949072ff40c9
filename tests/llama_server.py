"""llama.cpp's server on a GGUF file: ``python llama_server.py FILE --host HOST --port PORT``."""

import argparse
import threading

import xllamacpp


def serve() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    asked = parser.parse_args()
    settings = xllamacpp.CommonParams()
    settings.model.path = asked.file
    settings.hostnames, settings.port = [asked.host], asked.port
    settings.n_ctx, settings.n_parallel = 4096, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    # Keys and values as the checkpoint has them; flash attention rounds to float16.
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.warmup = False
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve()

#!/usr/bin/env python3
"""Times products, attention and copies at Transformer shapes on one JAX device; CSV for `lockstep calibrate`."""
import argparse
import datetime
import statistics
import sys
import time

COLUMNS = ["kernel", "precision", "batch", "m", "n", "k", "causal", "backward", "bytes", "seconds"]


def shapes():
    """Rows without times. Products of layers with d_model 2k to 16k after tensor parallelism of 1 to 8; odd sizes between."""
    rows = []

    def add(kernel, precision="", batch="", m="", n="", k="", causal="", backward="", size=""):
        rows.append([kernel, precision, batch, m, n, k, causal, backward, size])

    for precision in ("bf16", "int8"):
        for side in (512, 1024, 2048, 4096, 8192, 16384):
            add("product", precision, 1, side, side, side)
    for tokens in (1024, 2048, 4096, 8192, 16384):
        for n, k in ((1024, 4096), (1536, 12288), (2048, 8192), (4096, 1024), (5120, 5120), (7168, 8192), (8192, 3584),
                     (12288, 6144), (14336, 4096), (4096, 14336)):
            add("product", "bf16", 1, tokens, n, k)
    for k in (64, 128, 256, 512):
        add("product", "bf16", 1, 8192, 8192, k)
    for experts in (4, 8, 32):
        add("product", "bf16", experts, 1024, 2048, 7168)
        add("product", "bf16", experts, 1024, 7168, 2048)
    for head in (64, 128, 256):
        for length in (1024, 2048, 4096, 8192, 16384):
            heads = max(1, 32768 // length) * 4
            for causal in ("true", "false"):
                for backward in ("false", "true"):
                    add("attention", "bf16", heads, length, head, length, causal, backward)
    for power in range(12, 31, 2):
        add("memory", size=2 ** power)
    return rows


def runner(jax, jnp, row):
    """A jitted function, its arguments, and how many kernels one call is."""
    kernel, precision, batch, m, n, k, causal, backward, size = row
    random = jax.random.PRNGKey(0)
    element = {"bf16": jnp.bfloat16, "fp16": jnp.float16, "fp32": jnp.float32, "int8": jnp.int8, "": jnp.bfloat16}[precision]

    def filled(key, shape):
        if element == jnp.int8:
            return jax.random.randint(key, shape, -127, 127, jnp.int8)
        return jax.random.normal(key, shape, jnp.float32).astype(element)

    keys = jax.random.split(random, 4)
    if kernel == "product":
        wide = jnp.int32 if element == jnp.int8 else element
        one = lambda a, b: jnp.einsum("bmk,bkn->bmn", a, b, preferred_element_type=wide)
        return jax.jit(one), (filled(keys[0], (batch, m, k)), filled(keys[1], (batch, k, n)))
    if kernel == "attention":
        shape = (1, m, batch, n)
        arrays = tuple(filled(key, shape) for key in keys[:3])
        forward = lambda q, kk, v: jax.nn.dot_product_attention(q, kk, v, is_causal=causal == "true")
        if backward == "false":
            return jax.jit(forward), arrays
        weights = filled(keys[3], shape)
        return jax.jit(jax.grad(lambda q, kk, v: (forward(q, kk, v) * weights).astype(jnp.float32).sum(), argnums=(0, 1, 2))), arrays
    # Reads size / 2 bytes and writes as many.
    return jax.jit(lambda a: a + jnp.bfloat16(1)), (filled(keys[0], (size // 4,)),)


def seconds_of(jax, function, arguments, least=0.05, repeats=5):
    """Median time of one call, out of runs of many queued calls."""
    jax.block_until_ready(function(*arguments))
    calls, taken = 1, 0.0
    while taken < least and calls < 1 << 14:
        calls *= 2
        start = time.perf_counter()
        for _ in range(calls):
            last = function(*arguments)
        jax.block_until_ready(last)
        taken = time.perf_counter() - start
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            last = function(*arguments)
        jax.block_until_ready(last)
        runs.append((time.perf_counter() - start) / calls)
    return statistics.median(runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", action="store_true", help="print the rows without times and use no device")
    arguments = parser.parse_args()
    print(",".join(COLUMNS))
    if arguments.shapes:
        for row in shapes():
            print(",".join(map(str, row)) + ",")
        return
    import jax
    import jax.numpy as jnp

    device = jax.devices()[0]
    print(f"# {device.device_kind}, jax {jax.__version__}, {datetime.date.today()}", file=sys.stderr)
    for row in shapes():
        try:
            function, values = runner(jax, jnp, row)
            taken = seconds_of(jax, function, values)
            if row[0] == "attention" and row[7] == "true":  # a gradient runs the forward too
                forward, values = runner(jax, jnp, row[:7] + ["false", ""])
                taken -= seconds_of(jax, forward, values)
        except Exception as error:  # too large for the memory, or no such kernel: the others still count
            print(f"# left out {row}: {type(error).__name__}", file=sys.stderr)
            continue
        print(",".join(map(str, row)) + f",{taken:.6g}", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Times products, attention and copies at Transformer shapes on one device, as JAX or PyTorch run them; CSV for `lockstep calibrate`."""
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


def median_time(call, wait, least=0.05, repeats=5):
    """Of one call, out of runs of many queued calls."""
    wait(call())
    calls, taken = 1, 0.0
    while taken < least and calls < 1 << 14:
        calls *= 2
        taken = time_of_queue(call, wait, calls)
    return statistics.median(time_of_queue(call, wait, calls) / calls for _ in range(repeats))


def time_of_queue(call, wait, calls):
    start = time.perf_counter()
    for _ in range(calls):
        last = call()
    wait(last)
    return time.perf_counter() - start


class Jax:
    """Products and attention as XLA compiles them."""

    def __init__(self):
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        self.keys = jax.random.split(jax.random.PRNGKey(0), 4)
        self.wait = jax.block_until_ready

    def __str__(self):
        return f"{self.jax.devices()[0].device_kind}, jax {self.jax.__version__}"

    def copy(self, elements):
        return self.timed(lambda a: a + self.jnp.bfloat16(1), self.filled(0, (elements,)))

    def product(self, precision, batch, m, n, k):
        wide = self.jnp.int32 if precision == "int8" else self.jnp.bfloat16
        arrays = self.filled(0, (batch, m, k), precision), self.filled(1, (batch, k, n), precision)
        return self.timed(lambda a, b: self.jnp.einsum("bmk,bkn->bmn", a, b, preferred_element_type=wide), *arrays)

    def attention(self, heads, length, head, causal, backward):
        shape = (1, length, heads, head)
        arrays = [self.filled(place, shape) for place in range(3)]
        forward = lambda q, k, v: self.jax.nn.dot_product_attention(q, k, v, is_causal=causal)
        alone = self.timed(forward, *arrays)
        if not backward:
            return alone
        weights = self.filled(3, shape)
        loss = lambda q, k, v: (forward(q, k, v) * weights).astype(self.jnp.float32).sum()
        return self.timed(self.jax.grad(loss, argnums=(0, 1, 2)), *arrays) - alone  # a gradient runs the forward too

    def filled(self, place, shape, precision="bf16"):
        if precision == "int8":
            return self.jax.random.randint(self.keys[place], shape, -127, 127, self.jnp.int8)
        return self.jax.random.normal(self.keys[place], shape, self.jnp.float32).astype(self.jnp.bfloat16)

    def timed(self, function, *arrays):
        compiled = self.jax.jit(function)
        return median_time(lambda: compiled(*arrays), self.wait)


class Torch:
    """Products as PyTorch's libraries run them, attention in its fused kernels."""

    def __init__(self):
        import torch

        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.wait = lambda last: torch.cuda.synchronize() if self.device == "cuda" else None
        torch.manual_seed(0)

    def __str__(self):
        name = self.torch.cuda.get_device_name() if self.device == "cuda" else "CPU"
        return f"{name}, torch {self.torch.__version__}"

    def copy(self, elements):
        given, made = self.filled((elements,)), self.filled((elements,))
        return median_time(lambda: self.torch.add(given, 1, out=made), self.wait)

    def product(self, precision, batch, m, n, k):
        if precision == "int8":
            a, b = (self.torch.randint(-127, 127, shape, dtype=self.torch.int8, device=self.device) for shape in ((m, k), (n, k)))
            return median_time(lambda: self.torch._int_mm(a, b.t()), self.wait)
        a, b = self.filled((batch, m, k)), self.filled((batch, k, n))
        return median_time(lambda: self.torch.matmul(a, b), self.wait)

    def attention(self, heads, length, head, causal, backward):
        arrays = [self.filled((1, heads, length, head)).requires_grad_(backward) for _ in range(3)]
        forward = lambda: self.torch.nn.functional.scaled_dot_product_attention(*arrays, is_causal=causal)
        if not backward:
            return median_time(forward, self.wait)
        result, weights = forward(), self.filled((1, heads, length, head))
        return median_time(lambda: self.torch.autograd.grad(result, arrays, weights, retain_graph=True), self.wait)

    def filled(self, shape):
        return self.torch.randn(shape, device=self.device).to(self.torch.bfloat16)


def seconds_of(library, row):
    kernel, precision, batch, m, n, k, causal, backward, size = row
    if kernel == "product":
        return library.product(precision, batch, m, n, k)
    if kernel == "attention":
        return library.attention(batch, m, n, causal == "true", backward == "true")
    return library.copy(size // 4)  # in 16 bits: reads size / 2 bytes and writes as many


def main():
    libraries = {"jax": Jax, "torch": Torch}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=libraries, default="jax", help="whose kernels run (default: %(default)s)")
    parser.add_argument("--only", choices=("product", "attention", "memory"), help="leave the other kernels out")
    parser.add_argument("--largest", type=float, default=float("inf"), metavar="BYTES", help="leave out rows whose arrays are larger together")
    parser.add_argument("--shapes", action="store_true", help="print the rows without times and use no device")
    arguments = parser.parse_args()
    rows = [row for row in shapes() if arguments.only in (None, row[0]) and bytes_of(row) <= arguments.largest]
    print(",".join(COLUMNS))
    if arguments.shapes:
        for row in rows:
            print(",".join(map(str, row)) + ",")
        return
    library = libraries[arguments.library]()
    print(f"# {library}, {datetime.date.today()}", file=sys.stderr)
    for row in rows:
        try:
            taken = seconds_of(library, row)
        except Exception as error:  # too large for the memory, or no such kernel: the others still count
            print(f"# left out {row}: {type(error).__name__}", file=sys.stderr)
            continue
        print(",".join(map(str, row)) + f",{taken:.6g}", flush=True)


def bytes_of(row):
    kernel, _, batch, m, n, k, _, _, size = row
    if kernel == "product":
        return 2 * batch * (m * k + k * n + m * n)
    return 8 * batch * m * n if kernel == "attention" else size


if __name__ == "__main__":
    main()

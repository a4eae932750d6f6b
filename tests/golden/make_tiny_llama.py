"""Writes tiny_llama.gguf, tiny_llama.json, tiny_llama_tied.gguf and
tiny_llama_tied.json: random Llamas and the logits transformers gives them."""

import math

import numpy as np
import torch
from gguf import GGUFWriter
from transformers import LlamaConfig, LlamaForCausalLM

from golden import Gguf, arguments, logits, permute, rounded, write_json

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}

UNTIED = LlamaConfig(
    vocab_size=131,
    hidden_size=72,
    intermediate_size=160,
    num_hidden_layers=2,
    num_attention_heads=9,
    num_key_value_heads=3,
    head_dim=8,
    max_position_embeddings=512,
    rms_norm_eps=1e-5,
    rope_parameters=LLAMA3,
    tie_word_embeddings=False,
    attn_implementation="eager",
)

TIED = LlamaConfig(
    vocab_size=64,
    hidden_size=48,
    intermediate_size=96,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=4,
    head_dim=16,
    max_position_embeddings=512,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    tie_word_embeddings=True,
    attn_implementation="eager",
)

TOKENS = 40


def fill(model, seed):
    """Matrices scaled so that attention is uneven and logits spread well;
    norm gains around one. RandomState's stream is frozen by numpy."""
    random = np.random.RandomState(seed)
    for name, parameter in sorted(model.named_parameters()):
        x = random.standard_normal(tuple(parameter.shape))
        if x.ndim == 1:
            x = 1.0 + 0.2 * x
        else:
            gain = {"q_proj": 1.6, "k_proj": 1.6, "lm_head": 2.0}
            scale = next((g for part, g in gain.items() if part in name), 1.2)
            if "embed_tokens" in name and model.config.tie_word_embeddings:
                scale = 1.6
            x *= scale / math.sqrt(x.shape[1])
        parameter.data.copy_(torch.from_numpy(x.astype(np.float32)))


def rope_divisors(parameters, head_dim):
    """What llama.cpp's converter stores as rope_freqs.weight."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    original = parameters["original_max_position_embeddings"]
    low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
    factor = parameters["factor"]
    divisors = []
    for frequency in 1.0 / parameters["rope_theta"] ** exponents:
        wavelength = 2 * math.pi / float(frequency)
        if wavelength < original / high:
            divisors.append(1.0)
        elif wavelength > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(divisors, dtype=np.float32)


def write_gguf(path, name, model, write_head_dim):
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_file_type(0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if write_head_dim:
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)

    state = {k: v.numpy() for k, v in model.state_dict().items()}
    if config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor(
            "rope_freqs.weight", rope_divisors(config.rope_parameters, config.head_dim)
        )
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"])
    for i in range(config.num_hidden_layers):
        layer = f"model.layers.{i}"
        q = permute(state[f"{layer}.self_attn.q_proj.weight"], config.num_attention_heads)
        k = permute(state[f"{layer}.self_attn.k_proj.weight"], config.num_key_value_heads)
        writer.add_tensor(f"blk.{i}.attn_norm.weight", state[f"{layer}.input_layernorm.weight"])
        writer.add_tensor(f"blk.{i}.attn_q.weight", np.ascontiguousarray(q))
        writer.add_tensor(f"blk.{i}.attn_k.weight", np.ascontiguousarray(k))
        writer.add_tensor(f"blk.{i}.attn_v.weight", state[f"{layer}.self_attn.v_proj.weight"])
        writer.add_tensor(f"blk.{i}.attn_output.weight", state[f"{layer}.self_attn.o_proj.weight"])
        writer.add_tensor(
            f"blk.{i}.ffn_norm.weight", state[f"{layer}.post_attention_layernorm.weight"]
        )
        writer.add_tensor(f"blk.{i}.ffn_gate.weight", state[f"{layer}.mlp.gate_proj.weight"])
        writer.add_tensor(f"blk.{i}.ffn_up.weight", state[f"{layer}.mlp.up_proj.weight"])
        writer.add_tensor(f"blk.{i}.ffn_down.weight", state[f"{layer}.mlp.down_proj.weight"])
    writer.add_tensor("output_norm.weight", state["model.norm.weight"])
    if not config.tie_word_embeddings:
        writer.add_tensor("output.weight", state["lm_head.weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{path.name}: {path.stat().st_size} bytes")


def plain_logits(path, tokens):
    """The same model straight from the GGUF in float64, rotating neighbours:
    a second opinion on the permuted rows and on rope_freqs.weight."""
    gguf = Gguf(path)
    w = {k: v.astype(np.float64) for k, v in gguf.tensors().items()}
    heads = gguf.llama("attention.head_count")
    kv_heads = gguf.llama("attention.head_count_kv")
    head_dim = gguf.llama("rope.dimension_count")
    eps = gguf.llama("attention.layer_norm_rms_epsilon")
    n = len(tokens)

    frequency = gguf.llama("rope.freq_base") ** (-np.arange(0, head_dim, 2) / head_dim)
    frequency = frequency / w.get("rope_freqs.weight", 1.0)
    turn = np.exp(1j * np.arange(n)[:, None, None] * frequency)

    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain

    def rotate(x):
        y = x.reshape(n, -1, head_dim // 2, 2)
        z = (y[..., 0] + 1j * y[..., 1]) * turn
        return np.stack([z.real, z.imag], -1).reshape(n, -1, head_dim)

    x = w["token_embd.weight"][tokens]
    for i in range(gguf.llama("block_count")):
        b = lambda name: w[f"blk.{i}.{name}.weight"]
        h = norm(x, b("attn_norm"))
        q, k = rotate(h @ b("attn_q").T), rotate(h @ b("attn_k").T)
        v = (h @ b("attn_v").T).reshape(n, kv_heads, head_dim)
        k, v = (np.repeat(t, heads // kv_heads, axis=1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(head_dim)
        scores[:, np.triu(np.ones((n, n), dtype=bool), 1)] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ b("attn_output").T
        h = norm(x, b("ffn_norm"))
        gate = h @ b("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ b("ffn_up").T)) @ b("ffn_down").T
    return norm(x, w["output_norm.weight"]) @ w.get("output.weight", w["token_embd.weight"]).T


def make(out, name, config, seed, write_head_dim):
    model = LlamaForCausalLM(config).eval()
    fill(model, seed)
    path = out / f"{name}.gguf"
    write_gguf(path, name, model, write_head_dim)

    tokens = np.random.RandomState(seed + 1).randint(0, config.vocab_size, TOKENS).tolist()
    expected = logits(model, tokens)
    reread = logits(Gguf(path).model(round_to_bf16=False), tokens)
    plain = plain_logits(path, tokens)
    print(
        f"{name}: logits mean {expected.mean():.3f} std {expected.std():.3f}, "
        f"GGUF read back differs by {(expected - reread).abs().max():.2e}, "
        f"float64 by {np.abs(expected.numpy() - plain).max():.2e}"
    )
    assert (expected - reread).abs().max() < 1e-4
    assert np.abs(expected.numpy() - plain).max() < 1e-4
    write_json(
        out / f"{name}.json",
        {"tokens": tokens, "logits": [rounded(row, 9) for row in expected]},
    )


if __name__ == "__main__":
    args = arguments(__doc__)
    make(args.out, "tiny_llama", UNTIED, seed=1, write_head_dim=False)
    make(args.out, "tiny_llama_tied", TIED, seed=11, write_head_dim=True)

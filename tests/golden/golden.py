"""What the golden-data scripts share: JSON output, reading a Llama GGUF into
transformers, and building the tokenizer that a GGUF describes."""

import argparse
import hashlib
import json
import pathlib

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent

TOKEN_TYPE_CONTROL = 3


def arguments(description, model=False):
    parser = argparse.ArgumentParser(description=description)
    if model:
        parser.add_argument("model", type=pathlib.Path, help="GGUF file to read")
    parser.add_argument(
        "--out", type=pathlib.Path, default=HERE, help="folder to write to"
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return parser.parse_args()


# ---------------------------------------------------------------- JSON output


def rounded(values, digits):
    """Floats with `digits` significant digits, as a flat list."""
    return [float(f"{float(v):.{digits}g}") for v in values]


def _depth(x):
    if isinstance(x, dict):
        return 1 + max((_depth(v) for v in x.values()), default=0)
    if isinstance(x, list):
        return 1 + max((_depth(v) for v in x), default=0)
    return 0


def _render(x, indent):
    depth = _depth(x)
    if depth <= 1 or (isinstance(x, dict) and depth == 2):
        return json.dumps(x, separators=(",", ":"), allow_nan=False)
    pad = " " * (indent + 1)
    if isinstance(x, dict):
        items = [f"{pad}{json.dumps(k)}: {_render(v, indent + 1)}" for k, v in x.items()]
        opening, closing = "{", "}"
    else:
        items = [pad + _render(v, indent + 1) for v in x]
        opening, closing = "[", "]"
    return f"{opening}\n" + ",\n".join(items) + f"\n{' ' * indent}{closing}"


def write_json(path, data):
    """ASCII only (\\u escapes), one inner list or small object a line."""
    path.write_bytes((_render(data, 0) + "\n").encode("ascii"))
    print(f"{path.name}: {path.stat().st_size} bytes")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ------------------------------------------------------------ GGUF to a model


def permute(weights, heads):
    """Rows of q or k from transformers' order (pairs half a head apart) to
    GGUF's (pairs are neighbours)."""
    rows = weights.shape[0]
    return (
        weights.reshape(heads, 2, rows // heads // 2, *weights.shape[1:])
        .swapaxes(1, 2)
        .reshape(weights.shape)
    )


def unpermute(weights, heads):
    """The inverse of permute."""
    rows = weights.shape[0]
    return (
        weights.reshape(heads, rows // heads // 2, 2, *weights.shape[1:])
        .swapaxes(1, 2)
        .reshape(weights.shape)
    )


class Gguf:
    def __init__(self, path):
        self.reader = GGUFReader(path)
        assert self.get("general.architecture") == "llama"

    def get(self, key, default=None):
        field = self.reader.get_field(key)
        return default if field is None else field.contents()

    def llama(self, key, default=None):
        return self.get(f"llama.{key}", default)

    def tensors(self):
        """name -> float32 array in row-major (outermost first) shape."""
        return {
            t.name: dequantize(t.data, t.tensor_type).astype(np.float32)
            for t in self.reader.tensors
        }

    def config(self):
        heads = self.llama("attention.head_count")
        hidden = self.llama("embedding_length")
        names = {t.name for t in self.reader.tensors}
        return LlamaConfig(
            vocab_size=self.llama("vocab_size"),
            hidden_size=hidden,
            intermediate_size=self.llama("feed_forward_length"),
            num_hidden_layers=self.llama("block_count"),
            num_attention_heads=heads,
            num_key_value_heads=self.llama("attention.head_count_kv", heads),
            head_dim=self.llama("attention.key_length", hidden // heads),
            max_position_embeddings=self.llama("context_length"),
            rms_norm_eps=self.llama("attention.layer_norm_rms_epsilon"),
            rope_parameters={
                "rope_type": "default",
                "rope_theta": self.llama("rope.freq_base", 10000.0),
            },
            tie_word_embeddings="output.weight" not in names,
            bos_token_id=self.get("tokenizer.ggml.bos_token_id"),
            eos_token_id=self.get("tokenizer.ggml.eos_token_id"),
            pad_token_id=None,
            attn_implementation="eager",
        )

    def model(self, round_to_bf16):
        """transformers' model in float32, its weights rounded (nearest, ties
        to even) to bfloat16 first when asked."""
        config = self.config()
        tensors = self.tensors()

        def weight(name):
            w = tensors.pop(name)
            if name.endswith("attn_q.weight"):
                w = unpermute(w, config.num_attention_heads)
            elif name.endswith("attn_k.weight"):
                w = unpermute(w, config.num_key_value_heads)
            w = torch.from_numpy(np.array(w, order="C"))
            return w.to(torch.bfloat16).to(torch.float32) if round_to_bf16 else w

        state = {
            "model.embed_tokens.weight": weight("token_embd.weight"),
            "model.norm.weight": weight("output_norm.weight"),
        }
        if config.tie_word_embeddings:
            state["lm_head.weight"] = state["model.embed_tokens.weight"]
        else:
            state["lm_head.weight"] = weight("output.weight")
        for i in range(config.num_hidden_layers):
            for ours, theirs in (
                ("attn_q", "self_attn.q_proj"),
                ("attn_k", "self_attn.k_proj"),
                ("attn_v", "self_attn.v_proj"),
                ("attn_output", "self_attn.o_proj"),
                ("ffn_gate", "mlp.gate_proj"),
                ("ffn_up", "mlp.up_proj"),
                ("ffn_down", "mlp.down_proj"),
                ("attn_norm", "input_layernorm"),
                ("ffn_norm", "post_attention_layernorm"),
            ):
                state[f"model.layers.{i}.{theirs}.weight"] = weight(f"blk.{i}.{ours}.weight")
        factors = tensors.pop("rope_freqs.weight", None)
        assert not tensors, f"tensors left over: {sorted(tensors)}"

        model = LlamaForCausalLM(config).eval()
        model.load_state_dict(state, strict=True)
        if config.tie_word_embeddings:
            assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
        if factors is not None:
            model.model.rotary_emb.inv_freq /= torch.from_numpy(np.array(factors))
        return model


@torch.no_grad()
def logits(model, tokens):
    """Teacher-forced: float32 logits, one row a position."""
    return model(torch.tensor([tokens]), use_cache=False).logits[0].float()


# -------------------------------------------------------- GGUF to a tokenizer


def byte_characters():
    """byte -> the printable character that stands for it in a byte-level BPE
    vocabulary."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {b: chr(b) for b in kept}
    for n, b in enumerate(b for b in range(256) if b not in table):
        table[b] = chr(256 + n)
    return table


def tokenizer(gguf, special):
    """The byte-level BPE of a GGUF whose tokenizer.ggml.pre is "smollm". With
    `special`, the text of a control token becomes that token; without, it is
    text like any other."""
    assert gguf.get("tokenizer.ggml.model") == "gpt2"
    assert gguf.get("tokenizer.ggml.pre") == "smollm"
    tokens = gguf.get("tokenizer.ggml.tokens")
    types = gguf.get("tokenizer.ggml.token_type")
    merges = [tuple(m.split(" ")) for m in gguf.get("tokenizer.ggml.merges")]
    assert all(len(m) == 2 for m in merges)
    result = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    result.decoder = decoders.ByteLevel()
    if special:
        control = [t for t, kind in zip(tokens, types) if kind == TOKEN_TYPE_CONTROL]
        result.add_special_tokens(
            [AddedToken(t, special=True, normalized=False) for t in control]
        )
        assert all(result.token_to_id(t) == tokens.index(t) for t in control)
    return result

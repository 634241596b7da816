# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/post_training/modelopt/conf/Qwen/Qwen3-235B-A22B.sh
# Machine: h100:8
if [ -z ${HF_MODEL_CKPT} ]; then
  TOKENIZER_MODEL=Qwen/Qwen3-235B-A22B
else
  TOKENIZER_MODEL=${HF_MODEL_CKPT}
fi
MODEL_ARGS=" \
  --micro-batch-size 1 --bf16 --no-masked-softmax-fusion --disable-bias-linear \
  --untie-embeddings-and-output-weights --position-embedding-type rope --normalization RMSNorm --swiglu \
  --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64 \
  --group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm \
  --num-experts 128 --moe-ffn-hidden-size 1536 --moe-router-topk 8 --moe-layer-recompute \
  --seq-length 4096 --max-position-embeddings 40960 --tokenizer-model ${TOKENIZER_MODEL} \
  --make-vocab-size-divisible-by 1187 --attention-dropout 0.0 --hidden-dropout 0.0 --sequence-parallel \
"

#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/rl/model_configs/qwen3_30b_a3b_moe.sh
# Machine: h100:1
TP=${TP:-4}
PP=${PP:-1}
EP=${EP:-2}
MODEL_OPTIONS="\
  --seq-length ${MAX_SEQ_LENGTH:-8192} \
  --bf16 \
  --tensor-model-parallel-size $TP \
  --pipeline-model-parallel-size $PP \
  --expert-model-parallel-size $EP \
  --micro-batch-size 1 --global-batch-size 256 \
  --untie-embeddings-and-output-weights \
  --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 \
  --num-attention-heads 32 --kv-channels 128 \
  --group-query-attention --num-query-groups 4 \
  --normalization RMSNorm --position-embedding-type rope --swiglu --disable-bias-linear \
  --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-layer-freq 1 \
  --attention-dropout 0.0 --hidden-dropout 0.0 \
  --vocab-size 151936 --qk-layernorm --optimizer adam \
  "

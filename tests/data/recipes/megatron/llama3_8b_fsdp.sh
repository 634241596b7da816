#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/megatron_fsdp/train_llama3_8b_fsdp_h100_fp8.sh
# Machine: h100:1
MODEL=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --seq-length 8192
  --vocab-size 128256
  --normalization RMSNorm
  --position-embedding-type rope
  --swiglu
  --untie-embeddings-and-output-weights
  --disable-bias-linear
  --attention-dropout 0.0
  --hidden-dropout 0.0
)
TRAINING=(
  --micro-batch-size 1
  --global-batch-size 128
  --bf16
  --use-megatron-fsdp
  --data-parallel-sharding-strategy optim_grads_params
  --fp8-format hybrid
  --use-distributed-optimizer
  --overlap-grad-reduce
  --no-gradient-accumulation-fusion
)
torchrun pretrain_gpt.py \
  ${MODEL[@]} \
  ${TRAINING[@]}

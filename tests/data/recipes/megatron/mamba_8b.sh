#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/mamba/train.sh; its tokenizer has 256,000 tokens
# Machine: h100:1
SCALE="8B"
case "${SCALE}" in
  "800M")
    TP=1
    PATTERN="M-"
    ;;
  "8B")
    TP=4
    PATTERN="M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-"
    ;;
  *)
    exit 1
    ;;
esac
options=" \
  --tensor-model-parallel-size ${TP} --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce \
  --untie-embeddings-and-output-weights --position-embedding-type none --hybrid-layer-pattern ${PATTERN} \
  --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
  --seq-length 4096 --micro-batch-size 4 --global-batch-size 8 --vocab-size 256000 \
  --attention-dropout 0.0 --hidden-dropout 0.0 --disable-bias-linear --normalization RMSNorm --bf16"
torchrun --nproc_per_node 8 ../../pretrain_hybrid.py ${options}

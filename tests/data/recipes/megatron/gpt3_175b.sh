#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/gpt3/train_gpt3_175b_distributed.sh
# Machine: h100:16
MODEL=(
  --num-layers 96
  --hidden-size 12288
  --num-attention-heads 96
  --seq-length 2048
  --max-position-embeddings 2048
  --attention-backend auto # or flash
)
TRAINING=(
  --micro-batch-size 1
  --global-batch-size 1536
  --clip-grad 1.0
  --fp16
  --lr 6.0e-5
)
PARALLEL=(
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 16
)
DATA=(
  --data-path $1
  --vocab-file $2
  --merge-file $3
)
torchrun pretrain_gpt.py \
  ${MODEL[@]} \
  ${TRAINING[@]} \
  ${PARALLEL[@]} \
  ${DATA[@]}

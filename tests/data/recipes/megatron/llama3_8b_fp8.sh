#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/llama/train_llama3_8b_h100_fp8.sh
# Machine: h100:1
TP=1
NUM_LAYERS=32
SEQ_LENGTH=8192
MICRO_BATCH_SIZE=${MICRO_BATCH_SIZE:-1}
DTYPE="fp8"
TOKENIZER=${3:-"MOCK"}
MODEL=(
  --num-layers $NUM_LAYERS
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --kv-channels 128
  --seq-length $SEQ_LENGTH
  --normalization RMSNorm
  --position-embedding-type rope
  --swiglu
  --untie-embeddings-and-output-weights
  --disable-bias-linear
  --attention-dropout 0.0
  --hidden-dropout 0.0
)
TRAINING=(
  --micro-batch-size $MICRO_BATCH_SIZE
  --global-batch-size 128
  --bf16
  --grad-reduce-in-bf16
  --cross-entropy-loss-fusion
  --manual-gc
)
PRECISION=(
)
PARALLEL=(
  --tensor-model-parallel-size $TP
  --context-parallel-size 1
  --sequence-parallel
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
)
DATA=(
)
if [[ "$DTYPE" == "fp8" ]]; then
  PRECISION+=("--fp8-format hybrid" "--fp8-param-gather")
fi
if [[ "$TOKENIZER" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
  DATA+=("--mock-data" "--vocab-size 128256")
else
  DATA+=("--data-path $4" "--vocab-size 1")
fi
torchrun pretrain_gpt.py \
  ${MODEL[@]} \
  ${TRAINING[@]} \
  ${PRECISION[@]} \
  ${PARALLEL[@]} \
  ${DATA[@]}

#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/academic_paper_scripts/sc21/run_table_1.sh and CONFIG.sh
# Machine: a100:192
MODEL_SIZE=145B
if [ ${MODEL_SIZE} == "1.7B" ]; then
  TP=1; PP=1; MBS=16; GBS=512; NLS=24; HS=2304; NAH=24; NNODES=4
elif [ ${MODEL_SIZE} == "145B" ]; then
  TP=8; PP=8; MBS=2; GBS=2304; NLS=80; HS=12288; NAH=96; NNODES=192
  EXTRA="--activations-checkpoint-method uniform --num-layers-per-virtual-pipeline-stage 5 "
else
  echo "Invalid configuration"
  exit 1
fi
export PARAMS=" ${EXTRA} \
  --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} \
  --micro-batch-size ${MBS} --global-batch-size ${GBS} \
  --num-layers ${NLS} --hidden-size ${HS} --num-attention-heads ${NAH} \
  --seq-length 2048 --max-position-embeddings 2048 --merge-file <path> --lr 0.0001 --clip-grad 1.0 --fp16"
sbatch --nodes=${NNODES} --export=PARAMS SRUN.sh

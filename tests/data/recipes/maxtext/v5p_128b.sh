# Source: github.com/AI-Hypercomputer/maxtext at e591f30, src/maxtext/configs/tpu/v5p/128b.sh
# Machine: tpu-v5p:8x8x16
set -e
export EXECUTABLE="train"
for ARGUMENT in "$@"; do
    IFS='=' read -r KEY VALUE <<< "$ARGUMENT"
    export "$KEY"="$VALUE"
done
export LIBTPU_INIT_ARGS="--xla_enable_async_all_gather=true"
python3 -m maxtext.trainers.pre_train.$EXECUTABLE configs/base.yml\
    steps=15 per_device_batch_size=1 enable_checkpointing=false\
    remat_policy=minimal global_parameter_scale=128\
    ici_fsdp_parallelism=-1 ici_tensor_parallelism=8\
    max_target_length=2048 base_output_directory=$OUTPUT_PATH\
    use_iota_embed=true dataset_type=synthetic attention='flash' quantization=""

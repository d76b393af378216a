"""Where the parts of an archive lie: folders, names of files, and the marks that say it is one."""

ARCHIVE_ROOT_NAME = "package"
ARCHIVE_FORMAT_PATH, ARCHIVE_FORMAT_VALUE = "archive_format", "pt2"
ARCHIVE_VERSION_PATH, ARCHIVE_VERSION_VALUE = "archive_version", "0"

MODELS_DIR, MODELS_FILENAME_FORMAT = "models/", "models/{}.json"
SAMPLE_INPUTS_DIR, SAMPLE_INPUTS_FILENAME_FORMAT = "data/sample_inputs/", "data/sample_inputs/{}.pt"
EXTRA_DIR, MODULE_INFO_PATH = "extra/", "extra/module_info.json"

WEIGHTS_DIR, WEIGHTS_CONFIG_FILENAME_FORMAT, WEIGHT_FILENAME_PREFIX = "data/weights/", "data/weights/{}_weights_config.json", "weight_"
CONSTANTS_DIR, CONSTANTS_CONFIG_FILENAME_FORMAT = "data/constants/", "data/constants/{}_constants_config.json"
TENSOR_CONSTANT_FILENAME_PREFIX, CUSTOM_OBJ_FILENAME_PREFIX, OPAQUE_OBJ_FILENAME_PREFIX = "tensor_", "custom_obj_", "opaque_obj_"

AOTINDUCTOR_DIR, EXECUTORCH_DIR, MTIA_DIR = "data/aotinductor/", "data/executorch/", "data/mtia"
XL_MODEL_WEIGHTS_DIR, XL_MODEL_WEIGHTS_PARAM_CONFIG_PATH = "xl_model_weights/", "xl_model_weights/model_param_config"

#pragma once
// Everything of groups of processes: stores, groups, data parallelism, and the start by a launcher.

#include "cresset/dist/ddp/distributed_data_parallel.h"
#include "cresset/dist/ddp/zero_redundancy_optimizer.h"
#include "cresset/dist/elastic/environment.h"
#include "cresset/dist/group/process_group.h"
#include "cresset/dist/store/etcd_store.h"
#include "cresset/dist/store/tcp_store.h"

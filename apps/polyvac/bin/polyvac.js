#!/usr/bin/env node
import '@polyvac/host/cli'

#!/usr/bin/env node
// The operators' command. The product is TypeScript run through tsx, which is registered before the first of its files.
import { register } from 'tsx/esm/api';

register();
await import('./program.ts');

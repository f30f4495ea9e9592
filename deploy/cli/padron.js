#!/usr/bin/env node
// Registers tsx first, because program.ts and all that it imports are TypeScript.
import { register } from 'tsx/esm/api';

register();
await import('./program.ts');

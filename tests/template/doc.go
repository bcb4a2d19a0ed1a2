// Package template says what template.yaml deploys, in its tests: they evaluate the template as CloudFormation does, for
// several sets of parameters, and hold the result against settings, rights, alarms and documentation written out in full.
//
// They read the template in the root of the repository, or the one that TIDEMARK_TEMPLATE names. infra/sam/check.sh runs
// them a second time on what `sam build` made of it, together with the binaries.
package template

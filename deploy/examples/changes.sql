-- DuckDB over what `padron replay --into parquet --out changes.parquet` wrote.

-- How many companies went to BAJA on each date of the data.
SELECT fecha_dato, count(*) AS bajas
FROM 'changes.parquet'
WHERE ruc LIKE '20%' AND op = 'u' AND before_estado = 'ACTIVO' AND after_estado LIKE 'BAJA%'
GROUP BY fecha_dato
ORDER BY fecha_dato;

-- The row of each RUC as the stretch left it, without those that disappeared.
SELECT ruc, edition, after_nombre AS nombre, after_estado AS estado
FROM 'changes.parquet'
QUALIFY row_number() OVER (PARTITION BY ruc ORDER BY edition DESC) = 1 AND op <> 'd'
ORDER BY ruc;
